/* Two streams with copies, kernels, and a graph whose branches run beside each other. Prints the milliseconds from the end
   of the first work to that of each further one, as events have it. */
#include "container.h"

int cudaMalloc(void *, size_t);
int cudaMallocHost(void *, size_t);
int cudaMemcpyAsync(void *, const void *, size_t, int, void *);
int cudaStreamCreate(void **);
int cudaEventCreate(void **);
int cudaEventRecord(void *, void *);
int cudaEventElapsedTime(float *, void *, void *);
int cudaStreamWaitEvent(void *, void *, unsigned);
int cudaStreamBeginCapture(void *, int);
int cudaStreamEndCapture(void *, void **);
int cudaGraphInstantiate(void **, void *, unsigned long long);
int cudaGraphLaunch(void *, void *);
int cudaDeviceSynchronize(void);

enum { N = 1 << 18, WORKS = 8 };

static Container container;
static Wrapper wrapper = {0x466243b1, 1, &container, NULL};
static void stub(void) {}

static void *streams[2], *events[WORKS];
static float *data[2], *host[2];
static int works;

static void scale(int which, unsigned n, void *stream) {
    float factor = 2;
    dim3 grid = {(n + 127) / 128, 1, 1}, block = {128, 1, 1};
    void *arguments[] = {&data[which], &factor, &n};
    CHECK(cudaLaunchKernel((void *)stub, grid, block, arguments, 0, stream) == 0);
}

static void mark(int stream) { CHECK(cudaEventRecord(events[works++], streams[stream]) == 0); }

/* A graph that scales both arrays in branches of its own and copies one of them back behind both. */
static void *graph(void) {
    void *made, *graph, *fork, *join;
    CHECK(cudaEventCreate(&fork) == 0 && cudaEventCreate(&join) == 0);
    CHECK(cudaStreamBeginCapture(streams[0], 0) == 0 && cudaEventRecord(fork, streams[0]) == 0);
    CHECK(cudaStreamWaitEvent(streams[1], fork, 0) == 0);
    scale(0, 128, streams[0]), scale(1, 256, streams[1]);
    CHECK(cudaEventRecord(join, streams[1]) == 0 && cudaStreamWaitEvent(streams[0], join, 0) == 0);
    CHECK(cudaMemcpyAsync(host[0], data[0], 4 * N, 2, streams[0]) == 0);
    CHECK(cudaStreamEndCapture(streams[0], &graph) == 0 && cudaGraphInstantiate(&made, graph, 0) == 0);
    return made;
}

int main(void) {
    float milliseconds;
    fill(&container, PTX_CODE, 80, PTX, sizeof PTX), register_kernel(&wrapper, (void *)stub, "scale");
    for (int i = 0; i < WORKS; i++) CHECK(cudaEventCreate(&events[i]) == 0);
    for (int i = 0; i < 2; i++) {
        CHECK(cudaStreamCreate(&streams[i]) == 0 && cudaMalloc(&data[i], 4 * N) == 0 && cudaMallocHost(&host[i], 4 * N) == 0);
        for (int k = 0; k < N; k++) host[i][k] = 1;
    }
    void *made = graph();

    for (int i = 0; i < 2; i++) { CHECK(cudaMemcpyAsync(data[i], host[i], 4 * N, 1, streams[i]) == 0); mark(i); }
    for (int i = 0; i < 2; i++) scale(i, N, streams[i]), mark(i);
    CHECK(cudaGraphLaunch(made, streams[0]) == 0);
    mark(0);
    CHECK(cudaMemcpyAsync(host[1], data[1], 4 * N, 2, streams[1]) == 0);
    mark(1);
    scale(1, N, streams[1]), mark(1);
    CHECK(cudaGraphLaunch(made, streams[0]) == 0);
    mark(0);
    CHECK(works == WORKS && cudaDeviceSynchronize() == 0);

    for (int i = 1; i < WORKS; i++) {
        CHECK(cudaEventElapsedTime(&milliseconds, events[0], events[i]) == 0);
        printf("%.9g\n", milliseconds);
    }
    CHECK(host[0][0] == 8 && host[0][128] == 2);
    return 0;
}
