/* Graphs: made of a captured stream with a branch, and of nodes; what is performed changes, and what a capture refuses. */
#include "check.h"
#include <stdint.h>

int cuInit(unsigned);
int cuCtxCreate_v2(void **, unsigned, int);
int cuModuleLoadData(void **, const void *);
int cuModuleGetFunction(void **, void *, const char *);
int cuLaunchKernel(void *, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, void *, void **, void **);
int cudaMalloc(void *, size_t);
int cudaMallocAsync(void *, size_t, void *);
int cudaFreeAsync(void *, void *);
int cudaMemcpy(void *, const void *, size_t, int);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaMemsetAsync(void *, int, size_t, void *);
int cudaStreamCreate(void **);
int cudaStreamSynchronize(void *);
int cudaDeviceSynchronize(void);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaEventQuery(void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaLaunchHostFunc(void *, void (*)(void *), void *);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void **);
int cudaStreamIsCapturing(void *, int *);
int cudaStreamGetCaptureInfo(void *, int *, unsigned long long *, void **, const void ***, const void **, size_t *);
int cudaThreadExchangeStreamCaptureMode(int *);
int cudaGraphCreate(void **, unsigned);
int cudaGraphAddKernelNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphAddMemsetNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphAddMemcpyNode1D(void **, void *, void *const *, size_t, void *, const void *, size_t, int);
int cudaGraphAddHostNode(void **, void *, void *const *, size_t, const void *);
int cudaGraphAddChildGraphNode(void **, void *, void *const *, size_t, void *);
int cudaGraphAddDependencies(void *, void *const *, void *const *, const void *, size_t);
int cudaGraphGetNodes(void *, void **, size_t *);
int cudaGraphNodeGetType(void *, int *);
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *);
int cudaGraphExecKernelNodeSetParams(void *, void *, const void *);
int cudaGraphExecUpdate(void *, void *, void *);
int cudaGraphExecDestroy(void *);
int cudaGraphDestroy(void *);
int cuGraphCreate(void **, unsigned);
int cuUserObjectCreate(void **, void *, void (*)(void *), unsigned, unsigned);
int cuUserObjectRelease(void *, unsigned);
int cudaGraphRetainUserObject(void *, void *, unsigned, unsigned);
int cuGraphAddKernelNode_v2(void **, void *, void *const *, size_t, const void *);
int cuGraphInstantiateWithFlags(void **, void *, unsigned long long);
int cuGraphLaunch(void *, void *);

enum { N = 512 };
static void *kernel;
static int calls;
static void count(void *by) { calls += *(int *)by; }

static int launch(void *stream, float *data, float factor) {
    unsigned n = N;
    void *arguments[] = {&data, &factor, &n};
    return cuLaunchKernel(kernel, N / 128, 1, 1, 128, 1, 1, 0, stream, arguments, NULL);
}

/* The runtime may be called while an object ends. */
static void ended(void *data) {
    void *memory;
    CHECK(cudaMalloc(&memory, 4) == 0);
    ++*(int *)data;
}

int main(void) {
    void *context, *module, *a, *b, *fork, *join, *start, *end, *graph, *executable, *node, *first, *second, *last;
    float *data, *other, *memory, values[N], ones[N], branches, chain;
    int by = 2, status;
    unsigned long long id;
    const void **nodes;
    size_t n;

    CHECK(cuInit(0) == 0 && cuCtxCreate_v2(&context, 0, 0) == 0 && cuModuleLoadData(&module, PTX) == 0);
    CHECK(cuModuleGetFunction(&kernel, module, "scale") == 0);
    CHECK(cudaMalloc(&data, sizeof values) == 0 && cudaMalloc(&other, sizeof values) == 0);
    CHECK(cudaStreamCreate(&a) == 0 && cudaStreamCreate(&b) == 0);
    CHECK(cudaEventCreate(&fork) == 0 && cudaEventCreate(&join) == 0);
    CHECK(cudaEventCreate(&start) == 0 && cudaEventCreate(&end) == 0);
    for (int i = 0; i < N; i++) ones[i] = 1, values[i] = -1;

    /* A capture records, and does nothing. */
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaStreamBeginCapture(a, 0) == 401);
    CHECK(cudaMemcpyAsync(data, ones, sizeof ones, 4, a) == 0);
    CHECK(cudaEventRecord(fork, a) == 0 && cudaStreamWaitEvent(b, fork, 0) == 0);
    CHECK(cudaStreamIsCapturing(b, &status) == 0 && status == 1);
    CHECK(cudaMemsetAsync(other, 0, sizeof values, b) == 0 && launch(b, other, 3) == 0);
    CHECK(launch(a, data, 2) == 0 && launch(a, data, 3) == 0);
    CHECK(cudaStreamGetCaptureInfo(a, &status, &id, &graph, &nodes, NULL, &n) == 0);
    CHECK(status == 1 && n == 1 && cudaGraphNodeGetType((void *)nodes[0], &status) == 0 && status == 0);
    CHECK(cudaEventRecord(join, b) == 0 && cudaStreamWaitEvent(a, join, 0) == 0);
    CHECK(cudaLaunchHostFunc(a, count, &by) == 0);
    CHECK(cudaMemcpyAsync(values, data, sizeof values, 4, a) == 0);
    CHECK(cudaStreamEndCapture(a, &graph) == 0 && cudaStreamIsCapturing(b, &status) == 0 && status == 0);
    CHECK(cudaGraphGetNodes(graph, NULL, &n) == 0 && n == 7 && calls == 0 && values[0] == -1);

    /* Performing it twice; the branch overlaps. */
    CHECK(cudaGraphInstantiate(&executable, graph, 0) == 0 && cudaGraphDestroy(graph) == 0);
    CHECK(cudaGraphLaunch(executable, a) == 0 && calls == 2 && values[0] == 6 && values[N - 1] == 6);
    CHECK(cudaEventRecord(start, a) == 0 && cudaGraphLaunch(executable, a) == 0 && cudaEventRecord(end, a) == 0);
    CHECK(cudaStreamSynchronize(a) == 0 && calls == 4 && cudaEventElapsedTime(&branches, start, end) == 0);
    CHECK(cudaEventRecord(start, a) == 0 && launch(a, data, 1) == 0 && launch(a, data, 1) == 0 && launch(a, data, 1) == 0);
    CHECK(cudaEventRecord(end, a) == 0 && cudaEventElapsedTime(&chain, start, end) == 0);
    CHECK(branches > 0 && branches < 0.8f * chain);
    CHECK(cudaGraphExecDestroy(executable) == 0 && cudaGraphLaunch(executable, a) == 1);

    /* What a capture cannot have. */
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaStreamSynchronize(a) == 900);
    CHECK(launch(a, data, 1) == 901 && cudaStreamEndCapture(a, &graph) == 901 && graph == NULL);
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaMemcpy(values, data, 4, 4) == 906 && cudaStreamEndCapture(a, &graph) == 901);
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaDeviceSynchronize() == 900 && cudaStreamEndCapture(a, &graph) == 901);
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaMalloc(&memory, 4) == 900 && cudaStreamEndCapture(a, &graph) == 901);
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaStreamWaitEvent(a, end, 0) == 905 && cudaStreamEndCapture(a, &graph) == 901);
    CHECK(cudaStreamBeginCapture(a, 0) == 0 && cudaEventRecord(fork, a) == 0 && cudaEventQuery(fork) == 907);
    CHECK(cudaStreamEndCapture(a, &graph) == 901 && cudaStreamEndCapture(a, &graph) == 401);
    CHECK(cudaStreamBeginCapture(NULL, 0) == 900);
    status = 2;
    CHECK(cudaThreadExchangeStreamCaptureMode(&status) == 0 && status == 0 && cudaStreamBeginCapture(a, 0) == 0);
    CHECK(cudaMalloc(&memory, 4) == 0 && cudaStreamEndCapture(a, &graph) == 0 && cudaGraphDestroy(graph) == 0);

    /* Memory of a graph has its address from the start. */
    CHECK(cudaStreamBeginCapture(a, 1) == 0 && cudaMallocAsync(&memory, sizeof values, a) == 0 && memory);
    CHECK(cudaMemcpyAsync(memory, ones, sizeof ones, 4, a) == 0 && launch(a, memory, 9) == 0);
    CHECK(cudaMemcpyAsync(values, memory, sizeof values, 4, a) == 0 && cudaFreeAsync(memory, a) == 0);
    CHECK(cudaStreamEndCapture(a, &graph) == 0 && cudaGraphInstantiate(&executable, graph, 0) == 0);
    CHECK(cudaGraphLaunch(executable, a) == 0 && cudaGraphLaunch(executable, a) == 0 && values[7] == 9);

    /* Nodes. */
    float factor = 4;
    unsigned count_of = N;
    void *arguments[] = {&data, &factor, &count_of};
    struct { void *function; dim3 grid, block; unsigned shared; void **arguments, **extra; } launched =
        {kernel, {N / 128, 1, 1}, {128, 1, 1}, 0, arguments, NULL};
    struct { void *to; size_t pitch; unsigned value, element; size_t width, height; } set = {data, 0, 0x40000000, 4, N, 1};
    struct { void (*function)(void *); void *data; } host = {count, &by};
    CHECK(cudaGraphCreate(&graph, 0) == 0);
    CHECK(cudaGraphAddMemcpyNode1D(&last, graph, NULL, 0, values, data, sizeof values, 2) == 0);
    CHECK(cudaGraphAddMemsetNode(&first, graph, NULL, 0, &set) == 0);
    CHECK(cudaGraphAddKernelNode(&second, graph, &first, 1, &launched) == 0);
    CHECK(cudaGraphAddDependencies(graph, &second, &last, NULL, 1) == 0);
    CHECK(cudaGraphAddDependencies(graph, &second, &last, NULL, 1) == 1);
    CHECK(cudaGraphAddHostNode(&node, graph, &last, 1, &host) == 0);
    CHECK(cudaGraphInstantiate(&executable, graph, 0) == 0 && cudaGraphLaunch(executable, NULL) == 0);
    CHECK(values[3] == 8 && calls == 6);
    factor = 5;
    CHECK(cudaGraphExecKernelNodeSetParams(executable, second, &launched) == 0);
    CHECK(cudaGraphExecKernelNodeSetParams(executable, first, &launched) == 1);
    CHECK(cudaGraphLaunch(executable, NULL) == 0 && values[3] == 10);
    struct { int result; void *node, *from; } info;
    CHECK(cudaGraphExecUpdate(executable, graph, &info) == 0 && info.result == 0);
    CHECK(cudaGraphLaunch(executable, NULL) == 0 && values[3] == 8);
    CHECK(cudaGraphAddHostNode(&node, graph, NULL, 0, &host) == 0);
    CHECK(cudaGraphExecUpdate(executable, graph, &info) == 910 && info.result == 2);
    CHECK(cudaGraphAddDependencies(graph, &last, &first, NULL, 1) == 0 && cudaGraphInstantiate(&executable, graph, 0) == 1);

    /* A graph in a graph, and the driver's names. */
    void *inner;
    CHECK(cuGraphCreate(&inner, 0) == 0 && cuGraphAddKernelNode_v2(&first, inner, NULL, 0, &launched) == 0);
    CHECK(cuGraphCreate(&graph, 0) == 0 && cudaGraphAddChildGraphNode(&first, graph, NULL, 0, inner) == 0);
    CHECK(cudaGraphAddChildGraphNode(&second, graph, &first, 1, inner) == 0);
    CHECK(cuGraphInstantiateWithFlags(&executable, graph, 0) == 0 && cuGraphLaunch(executable, a) == 0);
    CHECK(cudaMemcpy(values, data, sizeof values, 2) == 0 && values[0] == 8 * 25);
    CHECK(cudaGraphDestroy((void *)0x40) == 1 && cudaGraphDestroy(graph) == 0 && cudaGraphDestroy(graph) == 1);

    /* An object that a graph and what was made of it keep ends with them. */
    void *object;
    calls = 0;
    CHECK(cuUserObjectCreate(&object, &calls, ended, 1, 0) == 1 && cuUserObjectCreate(&object, &calls, ended, 1, 1) == 0);
    CHECK(cudaGraphRetainUserObject(inner, object, 1, 1) == 0 && cuUserObjectRelease(object, 2) == 1);
    CHECK(cudaGraphInstantiate(&executable, inner, 0) == 0 && cudaGraphDestroy(inner) == 0 && calls == 0);
    CHECK(cudaGraphExecDestroy(executable) == 0 && calls == 1 && cuUserObjectRelease(object, 1) == 1);
    printf("passed\n");
    return 0;
}
