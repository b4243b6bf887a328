//! Binds launches to kernels: every argument becomes bytes, buffers and pointers into them.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use warplens_base::{IdMap, define_id, nearest};
use warplens_ir::{LaunchBounds, Parameter};
use warplens_isa::{OpaqueType, ReadMode, Sampler, ScalarType, TENSOR_MAP_ADDRESS, TENSOR_MAP_BYTES, TexelShape};

use crate::cluster;
use crate::content;
use crate::element::{ElementType, Number};
use crate::launch::{Launch, LaunchArgument, LaunchSymbol};
use crate::shape::{self, Extents};
use crate::texture::ObjectSettings;
use crate::value::{Buffer, Content, Member, ObjectValue, Reference, Target, Value};
use warplens_base::error::{Error, Result};

define_id! {
    /// A buffer of a plan.
    pub struct BufferId("buffer");
    /// A texture, surface or sampler of a plan.
    pub struct ObjectId("object");
}

/// What a launch has to know about its kernel.
#[derive(Clone, Debug)]
pub struct KernelInterface<'m> {
    /// Name, as messages show it.
    pub name: &'m str,
    /// Parameters.
    pub parameters: &'m [Parameter],
    /// Names of the parameters in the C++ source, where there is one.
    pub source_names: Vec<String>,
    /// Demands on the block.
    pub bounds: LaunchBounds,
    /// Number of the target that it was compiled for: 90 for `sm_90a`; 0 where nobody says.
    pub target: u32,
    /// Bytes of an address.
    pub pointer_bytes: u32,
    /// Variables: name, type of an element, size in bytes.
    pub variables: Vec<(&'m str, ScalarType, u64)>,
}

/// Launches ready to run, and the buffers that they share.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Plan {
    /// Buffers, in the order of the arguments.
    pub buffers: IdMap<BufferId, PlannedBuffer>,
    /// Textures, surfaces and samplers.
    pub objects: IdMap<ObjectId, PlannedObject>,
    /// Launches, in order; at least one.
    pub launches: Vec<PlannedLaunch>,
}

/// A texture, surface or sampler that is made before the launches.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedObject {
    /// What messages call it: the place and the text of what was written.
    pub name: String,
    /// Which of them.
    pub kind: OpaqueType,
    /// Buffer, first byte in it, and what the texels are; a sampler has none.
    pub texels: Option<(BufferId, u64, TexelShape)>,
    /// How a texture is sampled.
    pub sampler: Sampler,
    /// What a texture gives of integers.
    pub read: ReadMode,
}

/// A buffer with its content at the start.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedBuffer {
    /// Name of the parameter that it was given for.
    pub name: String,
    /// Launch that brought it.
    pub launch: usize,
    /// Argument that brought it; none of a variable's.
    pub argument: Option<usize>,
    /// Type of its elements.
    pub element: ElementType,
    /// Content, which every run of the plan shares.
    pub bytes: Arc<Vec<u8>>,
    /// All of it is zero by its description: it need not be looked at, which takes a second for each GB.
    pub is_zero: bool,
}

/// A launch with its parameter space.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedLaunch {
    /// CTAs.
    pub grid: Extents,
    /// Threads per CTA.
    pub block: Extents,
    /// CTAs per cluster, where the launch or the kernel says so.
    pub cluster: Option<Extents>,
    /// Bytes of dynamic shared memory per CTA.
    pub dynamic_shared: u64,
    /// Registers per thread, if given.
    pub registers: Option<u32>,
    /// Names of the parameters, each with every name that it goes by.
    pub parameter_names: Vec<Vec<String>>,
    /// Buffer that each argument points to.
    pub argument_buffers: Vec<Option<BufferId>>,
    /// The parameter space.
    pub parameters: Words,
    /// Contents of variables, written before the launch.
    pub symbols: Vec<PlannedSymbol>,
}

/// New content of a variable.
#[derive(Clone, PartialEq, Debug)]
pub struct PlannedSymbol {
    /// Name of the variable.
    pub name: String,
    /// Its first bytes.
    pub content: Words,
}

/// Bytes with addresses that are known only when buffers have been placed.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Words {
    /// The bytes; zero where addresses go.
    pub bytes: Vec<u8>,
    /// The addresses.
    pub pointers: Vec<Pointer>,
    /// The handles of objects, each with the position of its first byte.
    pub handles: Vec<(usize, ObjectId)>,
}

/// An address to be written into bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Pointer {
    /// Position of its first byte.
    pub at: usize,
    /// Its size.
    pub bytes: usize,
    /// Buffer that it points into.
    pub buffer: BufferId,
    /// Bytes from the start of the buffer.
    pub offset: u64,
}

impl Plan {
    /// Binds launches to their kernels. `read` gives the bytes of a file, `limit` bounds the bytes of all buffers.
    pub fn bind(
        launches: &[(Launch, KernelInterface<'_>)],
        limit: u64,
        read: &dyn Fn(&str) -> std::result::Result<Vec<u8>, String>,
    ) -> Result<Self> {
        let slots: Vec<Vec<&LaunchArgument>> =
            launches.iter().map(|(launch, kernel)| assign(launch, kernel)).collect::<Result<_>>()?;
        let mut binder = Binder { launches, slots, read, left: limit, plan: Plan::default(), made: BTreeMap::new() };
        for number in 0..launches.len() {
            let planned = binder.launch(number)?;
            binder.plan.launches.push(planned);
        }
        Ok(binder.plan)
    }
}

/// The argument of each parameter.
fn assign<'l>(launch: &'l Launch, kernel: &KernelInterface<'_>) -> Result<Vec<&'l LaunchArgument>> {
    let mut slots: Vec<Option<&LaunchArgument>> = vec![None; kernel.parameters.len()];
    let positions = kernel.positions();
    for layer in [&launch.arguments, &launch.overrides] {
        let mut own: Vec<Option<&LaunchArgument>> = vec![None; slots.len()];
        for argument in layer {
            if let Some(target) = &argument.argument.target {
                let index = kernel.index_of(target, argument, &positions)?;
                if own[index].replace(argument).is_some() {
                    let name = &kernel.parameters[index].name;
                    return Err(Error::usage(format!(
                        "{}: argument {index} (`{name}`) is given twice",
                        argument.place
                    )));
                }
            }
        }
        let mut free = 0;
        for argument in layer.iter().filter(|argument| argument.argument.target.is_none()) {
            while own.get(free).is_some_and(Option::is_some) {
                free += 1;
            }
            let Some(slot) = own.get_mut(free) else {
                return Err(Error::usage(format!(
                    "{} (`{}`) is one too many: kernel `{}` has {}",
                    argument.place,
                    argument.text,
                    kernel.name,
                    parameters(kernel.parameters.len())
                )));
            };
            *slot = Some(argument);
        }
        for (slot, own) in slots.iter_mut().zip(own) {
            *slot = own.or(*slot);
        }
    }
    let missing: Vec<String> = kernel
        .parameters
        .iter()
        .zip(&slots)
        .enumerate()
        .filter(|(_, (_, slot))| slot.is_none())
        .map(|(index, _)| kernel.describe(index))
        .collect();
    if let Some(first) = missing.first() {
        let rest = if missing.len() > 1 { format!(" and {} more", missing.len() - 1) } else { String::new() };
        return Err(Error::usage(format!("kernel `{}`: missing {first}{rest}", kernel.name)).with_help(
            "give each argument with --arg VALUE or --arg NAME=VALUE, or with args = [...] in a launch file",
        ));
    }
    Ok(slots.into_iter().flatten().collect())
}

fn parameters(count: usize) -> String {
    match count {
        0 => "no parameters".to_owned(),
        1 => "1 parameter".to_owned(),
        _ => format!("{count} parameters"),
    }
}

impl KernelInterface<'_> {
    /// CTAs per cluster of a launch with this grid.
    fn cluster(&self, given: Option<Extents>, grid: Extents) -> Result<Option<Extents>> {
        let Self { name, bounds, target, pointer_bytes, .. } = *self;
        let cluster = cluster::cluster_of(given, &cluster::ClusterDemands { name, bounds }, grid)?;
        cluster.map_or(Ok(()), |cluster| cluster::check_target(cluster, name, (target, pointer_bytes)))?;
        Ok(cluster)
    }

    /// The names that a parameter goes by: as written, the suffix `param_N`, and the name in the C++ source.
    fn names_of(&self, index: usize) -> Vec<String> {
        let name = &self.parameters[index].name;
        let mut names = vec![name.clone()];
        if let Some(at) = name.rfind("_param_") {
            names.push(name[at + 1..].to_owned());
        }
        names.extend(self.source_names.get(index).filter(|&source| source != name).cloned());
        names
    }

    /// The first parameter that goes by each name.
    fn positions(&self) -> HashMap<String, usize> {
        let mut positions = HashMap::default();
        for index in 0..self.parameters.len() {
            for name in self.names_of(index) {
                positions.entry(name).or_insert(index);
            }
        }
        positions
    }

    fn index_of(
        &self,
        target: &Target,
        argument: &LaunchArgument,
        positions: &HashMap<String, usize>,
    ) -> Result<usize> {
        let n_parameters = self.parameters.len();
        match target {
            Target::Index(index) if *index < n_parameters => Ok(*index),
            Target::Index(index) => Err(Error::usage(format!(
                "{}: there is no argument {index}: kernel `{}` has {}",
                argument.place,
                self.name,
                parameters(n_parameters)
            ))),
            Target::Name(name) => positions.get(name).copied().ok_or_else(|| {
                let shortest = |index| self.names_of(index).into_iter().min_by_key(String::len).unwrap_or_default();
                let names: Vec<String> = (0..n_parameters).map(shortest).collect();
                let help = match nearest(name, names.iter().map(String::as_str)) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => format!("its parameters are {}", names.join(", ")),
                };
                let place = &argument.place;
                Error::usage(format!("{place}: kernel `{}` has no parameter `{name}`", self.name)).with_help(help)
            }),
        }
    }

    /// Position, name and type of a parameter.
    fn describe(&self, index: usize) -> String {
        let parameter = &self.parameters[index];
        let ty = if parameter.is_array {
            format!("a structure of {} bytes", parameter.bytes)
        } else {
            parameter.ty.name().to_owned()
        };
        let name = self.source_names.get(index).unwrap_or(&parameter.name);
        format!("argument {index} (`{name}`, {ty})")
    }
}

/// Bytes of the handle of an object.
const HANDLE_BYTES: u64 = 8;

struct Binder<'b, 'm> {
    launches: &'b [(Launch, KernelInterface<'m>)],
    slots: Vec<Vec<&'b LaunchArgument>>,
    read: &'b dyn Fn(&str) -> std::result::Result<Vec<u8>, String>,
    /// Bytes that buffers may still take.
    left: u64,
    plan: Plan,
    /// Buffers of arguments, by launch and argument.
    made: BTreeMap<(usize, usize), BufferId>,
}

impl<'b> Binder<'b, '_> {
    fn launch(&mut self, number: usize) -> Result<PlannedLaunch> {
        let launches = self.launches;
        let (launch, kernel) = &launches[number];
        let (grid, block) = extents(launch, kernel)?;
        let cluster = kernel.cluster(launch.cluster, grid)?;
        let mut space = Words::default();
        let mut argument_buffers = Vec::new();
        for (index, parameter) in kernel.parameters.iter().enumerate() {
            let argument = self.slots[number][index];
            let words = self.argument(number, index)?;
            argument_buffers.push(match &argument.argument.value {
                Value::Buffer(_) | Value::Reference(_) | Value::TensorMap(_) => {
                    words.pointers.first().map(|pointer| pointer.buffer)
                }
                Value::Object(_) => {
                    let object = words.handles.first().map(|&(_, object)| &self.plan.objects[object]);
                    object.and_then(|object| object.texels).map(|(buffer, ..)| buffer)
                }
                _ => None,
            });
            space.put(parameter.offset as usize, words);
        }
        let names = (0..kernel.parameters.len()).map(|index| kernel.names_of(index)).collect();
        let symbols = launch.symbols.iter().map(|symbol| self.symbol(number, symbol)).collect::<Result<_>>()?;
        Ok(PlannedLaunch {
            grid,
            block,
            cluster,
            dynamic_shared: launch.shared.unwrap_or(0),
            registers: launch.registers,
            parameter_names: names,
            argument_buffers,
            parameters: space,
            symbols,
        })
    }

    fn argument(&mut self, launch: usize, index: usize) -> Result<Words> {
        let kernel = &self.launches[launch].1;
        let argument = self.slots[launch][index];
        let parameter = &kernel.parameters[index];
        let fail = |message: String| {
            Error::usage(format!("{} (`{}`): {message}", argument.place, argument.text)).with_detail(format!(
                "it is for {} of kernel `{}`",
                kernel.describe(index),
                kernel.name
            ))
        };
        let size = parameter.bytes as usize;
        let holds_address = !parameter.is_array && parameter.bytes == kernel.pointer_bytes && !parameter.ty.is_float();
        let holds_handle =
            !parameter.is_array && u64::from(parameter.bytes) == HANDLE_BYTES && !parameter.ty.is_float();
        match &argument.argument.value {
            Value::Number(number) if parameter.is_array => Err(fail(format!(
                "a structure cannot be the number {number}; write struct({number},...) or bytes(HEX)"
            ))),
            Value::Number(number) => scalar(parameter.ty, *number).map(Words::from).map_err(fail),
            Value::Bytes(bytes) if bytes.len() != size => {
                Err(fail(format!("{} bytes are given, the parameter takes {size}", bytes.len())))
            }
            Value::Bytes(bytes) => Ok(Words::from(bytes.clone())),
            Value::Struct(members) => {
                let words = self.structure(launch, index, members)?;
                // The end of a structure may be padding.
                if words.bytes.len() > size || words.bytes.len() + 8 <= size {
                    let given = words.bytes.len();
                    return Err(fail(format!("the members take {given} bytes, the parameter takes {size}")));
                }
                Ok(words.padded(size))
            }
            Value::TensorMap(_) if !parameter.is_array || size != TENSOR_MAP_BYTES => Err(fail(format!(
                "a tensor map takes a structure of {TENSOR_MAP_BYTES} bytes, the parameter takes {size}"
            ))),
            Value::TensorMap(text) => {
                let (buffer, offset) = self.resource(launch, index, &text.resource)?;
                if !offset.is_multiple_of(16) {
                    return Err(fail("a tensor begins at a multiple of 16 bytes".to_owned()));
                }
                let pointer = Pointer { at: TENSOR_MAP_ADDRESS, bytes: 8, buffer, offset };
                Ok(Words { bytes: text.map.pack().to_vec(), pointers: vec![pointer], handles: Vec::new() })
            }
            Value::Content(_) => unreachable!("arguments have no content without a type"),
            Value::Buffer(_) | Value::Reference(_) | Value::Null if !holds_address => {
                Err(fail("the parameter holds no address, so that it takes a number".to_owned()))
            }
            Value::Object(_) if !holds_handle => {
                Err(fail("the parameter holds no handle, so that it takes a number".to_owned()))
            }
            value => self.address(launch, index, value),
        }
    }

    /// A buffer, a reference or null as the address that a parameter or member holds.
    fn address(&mut self, launch: usize, index: usize, value: &Value) -> Result<Words> {
        let width = self.launches[launch].1.pointer_bytes as usize;
        let (buffer, offset) = match value {
            Value::Buffer(buffer) => {
                let element_bytes = buffer.element.bytes();
                debug_assert!(element_bytes > 0);
                (self.buffer_of(launch, index, buffer)?, 0)
            }
            Value::Reference(reference) => self.referenced(self.written(launch, index), *reference)?,
            Value::Object(object) => {
                let texels = object.resource.as_ref().map(|texels| self.resource(launch, index, texels)).transpose()?;
                return self.object(self.written(launch, index), object, texels);
            }
            _ => return Ok(Words::from(vec![0; width])),
        };
        let pointer = Pointer { at: 0, bytes: width, buffer, offset };
        Ok(Words { bytes: vec![0; width], pointers: vec![pointer], handles: Vec::new() })
    }

    /// Where texels or a tensor begin: in a buffer of their own or in that of another argument.
    fn resource(&mut self, launch: usize, index: usize, resource: &Value) -> Result<(BufferId, u64)> {
        match resource {
            Value::Buffer(buffer) => Ok((self.buffer_of(launch, index, buffer)?, 0)),
            Value::Reference(reference) => self.referenced(self.written(launch, index), *reference),
            _ => unreachable!("the grammar has buffers and references here"),
        }
    }

    /// The buffer that an argument brings, made when first asked for.
    fn buffer_of(&mut self, launch: usize, index: usize, buffer: &Buffer) -> Result<BufferId> {
        let argument = self.slots[launch][index];
        let whole = brought(&argument.argument.value).is_some();
        if let Some(&made) = self.made.get(&(launch, index)).filter(|_| whole) {
            return Ok(made);
        }
        let bytes = content::make(buffer, self.left, self.read)
            .map_err(|message| Error::usage(format!("{} (`{}`): {message}", argument.place, argument.text)))?;
        self.left -= bytes.len() as u64;
        let name = self.launches[launch].1.parameters[index].name.clone();
        let (element, is_zero) = (buffer.element, buffer.content == Content::Zeros);
        let id = self.plan.buffers.push(PlannedBuffer {
            name,
            launch,
            argument: Some(index),
            element,
            bytes: Arc::new(bytes),
            is_zero,
        });
        if whole {
            self.made.insert((launch, index), id);
        }
        Ok(id)
    }

    /// Follows a reference to a buffer and an offset in it.
    fn referenced(&mut self, (place, text): (&str, &str), mut reference: Reference) -> Result<(BufferId, u64)> {
        // In a loop: launch files may chain as many references as they have arguments.
        let mut left: usize = self.slots.iter().map(Vec::len).sum();
        let mut offset = Some(0u64);
        let (mut place, mut text) = (place, text);
        loop {
            let fail = |message: String| Error::usage(format!("{place} (`{text}`): {message}"));
            let Some(&target) = self.slots.get(reference.launch).and_then(|slots| slots.get(reference.index)) else {
                return Err(fail(format!("there is no argument {} in launch {}", reference.index, reference.launch)));
            };
            offset = offset.and_then(|offset| offset.checked_add(reference.offset));
            if let Some(buffer) = brought(&target.argument.value) {
                let buffer = self.buffer_of(reference.launch, reference.index, buffer)?;
                let size = self.plan.buffers[buffer].bytes.len() as u64;
                let offset = offset.filter(|&offset| offset <= size);
                let outside = || fail(format!("the offset lies outside the buffer of {size} bytes"));
                return Ok((buffer, offset.ok_or_else(outside)?));
            }
            match named(&target.argument.value) {
                Some(_) if left == 0 => return Err(fail("the references go in a circle".to_owned())),
                Some(next) => {
                    (place, text, reference) = (&target.place, &target.text, next);
                    left -= 1;
                }
                None => return Err(fail(format!("argument {} is no buffer (`{}`)", reference.index, target.text))),
            }
        }
    }

    /// What messages call an argument, and its text.
    fn written(&self, launch: usize, index: usize) -> (&'b str, &'b str) {
        let argument = self.slots[launch][index];
        (&argument.place, &argument.text)
    }

    /// An object as the handle that a parameter or variable holds.
    fn object(
        &mut self,
        (place, text): (&str, &str),
        object: &ObjectValue,
        texels: Option<(BufferId, u64)>,
    ) -> Result<Words> {
        let fail = |message: String| Error::usage(format!("{place} (`{text}`): {message}"));
        let texels = match texels {
            None => None,
            Some((buffer, offset)) => {
                let PlannedBuffer { element, bytes, .. } = &self.plan.buffers[buffer];
                let left = (bytes.len() as u64).saturating_sub(offset);
                Some((buffer, offset, object.settings.texels.shape(*element, left).map_err(fail)?))
            }
        };
        let ObjectSettings { kind, sampler, read, .. } = object.settings;
        let id =
            self.plan.objects.push(PlannedObject { name: format!("{place} (`{text}`)"), kind, texels, sampler, read });
        Ok(Words { bytes: vec![0; HANDLE_BYTES as usize], pointers: Vec::new(), handles: vec![(0, id)] })
    }

    /// The object that a variable holds the handle of, with a buffer of its own if it brings one.
    fn symbol_object(&mut self, launch: usize, symbol: &LaunchSymbol, object: &ObjectValue) -> Result<Words> {
        let written = (symbol.place.as_str(), symbol.text.as_str());
        let texels = match &object.resource {
            Some(Value::Buffer(buffer)) => {
                let bytes = content::make(buffer, self.left, self.read)
                    .map_err(|message| Error::usage(format!("{} (`{}`): {message}", symbol.place, symbol.text)))?;
                self.left -= bytes.len() as u64;
                let (element, is_zero) = (buffer.element, buffer.content == Content::Zeros);
                let (name, bytes) = (symbol.name.clone(), Arc::new(bytes));
                let planned = PlannedBuffer { name, launch, argument: None, element, bytes, is_zero };
                Some((self.plan.buffers.push(planned), 0))
            }
            Some(Value::Reference(reference)) => Some(self.referenced(written, *reference)?),
            Some(_) | None => None,
        };
        self.object(written, object, texels)
    }

    fn structure(&mut self, launch: usize, index: usize, members: &[Member]) -> Result<Words> {
        let mut words = Words::default();
        for member in members {
            let argument = self.slots[launch][index];
            let fail = |message: String| Error::usage(format!("{} (`{}`): {message}", argument.place, argument.text));
            let value = match &member.value {
                Value::Number(number) => {
                    let ty = member.ty.unwrap_or_else(|| plain_type(*number));
                    let mut bytes = Vec::new();
                    ty.encode(*number, &mut bytes).map_err(fail)?;
                    Words::from(bytes)
                }
                value => self.address(launch, index, value)?,
            };
            let at = words.bytes.len().next_multiple_of(value.bytes.len());
            words.put(at, value);
        }
        Ok(words)
    }

    fn symbol(&mut self, launch: usize, symbol: &LaunchSymbol) -> Result<PlannedSymbol> {
        let kernel = &self.launches[launch].1;
        let fail = |message: String| Error::usage(format!("{} (`{}`): {message}", symbol.place, symbol.text));
        let Some(&(_, ty, size)) = kernel.variables.iter().find(|(name, ..)| *name == symbol.name) else {
            let near = nearest(&symbol.name, kernel.variables.iter().map(|&(name, ..)| name));
            let error = fail(format!("there is no variable `{}`", symbol.name));
            return Err(match near {
                Some(near) => error.with_help(format!("did you mean `{near}`?")),
                None => error,
            });
        };
        let content = match &symbol.value {
            Value::Number(number) => Words::from(scalar(ty, *number).map_err(fail)?),
            Value::Bytes(bytes) => Words::from(bytes.clone()),
            Value::Struct(members) if members.iter().all(|member| matches!(member.value, Value::Number(_))) => {
                let mut words = Words::default();
                for member in members {
                    let Value::Number(number) = member.value else { unreachable!("only numbers were let through") };
                    let mut bytes = Vec::new();
                    member.ty.unwrap_or_else(|| plain_type(number)).encode(number, &mut bytes).map_err(fail)?;
                    words.put(words.bytes.len().next_multiple_of(bytes.len()), Words::from(bytes));
                }
                words
            }
            Value::Buffer(buffer) => Words::from(content::make(buffer, self.left, self.read).map_err(fail)?),
            Value::Object(_) if size != HANDLE_BYTES => {
                return Err(fail(format!("the variable has {size} bytes and holds no handle")));
            }
            Value::Object(object) => self.symbol_object(launch, symbol, object)?,
            Value::Content(content) => {
                let element = element_of(ty).ok_or_else(|| fail(format!("say the type: TYPE[COUNT]; it is .{ty}")))?;
                let listed = matches!(content, Content::Values(_) | Content::File(_));
                let count = (!listed).then_some(size / element.bytes() as u64);
                let buffer = Buffer { element, count, content: content.clone() };
                Words::from(content::make(&buffer, self.left, self.read).map_err(fail)?)
            }
            Value::Reference(_) | Value::TensorMap(_) | Value::Null | Value::Struct(_) => {
                return Err(fail("a variable takes a number, content, a buffer's content or bytes(HEX)".to_owned()));
            }
        };
        if content.bytes.len() as u64 > size {
            return Err(fail(format!("{} bytes are given, the variable has {size}", content.bytes.len())));
        }
        self.left = self.left.saturating_sub(content.bytes.len() as u64);
        Ok(PlannedSymbol { name: symbol.name.clone(), content })
    }
}

/// What says where the memory behind a value is: itself, the texels of an object or the tensor of a map.
fn memory(value: &Value) -> Option<&Value> {
    match value {
        Value::Object(object) => object.resource.as_ref(),
        Value::TensorMap(text) => Some(&text.resource),
        value => Some(value),
    }
}

/// The buffer that a value brings.
fn brought(value: &Value) -> Option<&Buffer> {
    match memory(value) {
        Some(Value::Buffer(buffer)) => Some(buffer),
        _ => None,
    }
}

/// The reference that a value is or holds.
fn named(value: &Value) -> Option<Reference> {
    match memory(value) {
        Some(Value::Reference(reference)) => Some(*reference),
        _ => None,
    }
}

/// The shape of a launch, refused where no GPU or not this kernel can have it.
pub fn extents(launch: &Launch, kernel: &KernelInterface<'_>) -> Result<(Extents, Extents)> {
    let need = |what: &str, value: Option<Extents>| {
        value.ok_or_else(|| {
            Error::usage(format!("no {what} is given for kernel `{}`", kernel.name))
                .with_help(format!("give it with --{what} X[,Y[,Z]], or as {what} = [X, Y, Z] in a launch file"))
        })
    };
    let (grid, block) = (need("grid", launch.grid)?, need("block", launch.block)?);
    shape::check(grid, block)?;
    kernel.cluster(launch.cluster, grid)?;
    let n_threads: u32 = block.iter().product();
    if let Some(required) = kernel.bounds.required_threads.filter(|&required| required != block) {
        return Err(Error::usage(format!(
            "impossible block {}: kernel `{}` requires {}",
            shape::show(block),
            kernel.name,
            shape::show(required)
        )));
    }
    if let Some(most) = kernel.bounds.max_threads.filter(|&most| n_threads > most) {
        return Err(Error::usage(format!(
            "impossible block {}: kernel `{}` was compiled for at most {most} threads",
            shape::show(block),
            kernel.name
        )));
    }
    Ok((grid, block))
}

/// A number in the type of a parameter. Integer parameters take both signs, untyped ones also floats.
fn scalar(ty: ScalarType, number: Number) -> std::result::Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let n_bytes = ty.bytes() as usize;
    let untyped = matches!(ty, ScalarType::B32 | ScalarType::B64);
    let float = match (ty, n_bytes) {
        (ScalarType::F16, _) => Some(ElementType::F16),
        (ScalarType::Bf16, _) => Some(ElementType::Bf16),
        _ if ty.is_float() || (untyped && matches!(number, Number::Float(_))) => {
            Some(if n_bytes == 4 { ElementType::F32 } else { ElementType::F64 })
        }
        _ => None,
    };
    match (float, number) {
        (Some(float), number) => float.encode(number, &mut bytes)?,
        (None, Number::Float(value)) => return Err(format!("{value} is not an integer, as .{ty} needs")),
        (None, Number::Integer(value)) => {
            let bits = 8 * n_bytes as u32;
            if bits > 64 {
                return Err(format!("a .{ty} parameter takes bytes(HEX)"));
            }
            let (low, high) = (-(1i128 << (bits - 1)), (1i128 << bits) - 1);
            if value < low || value > high {
                return Err(format!("{value} does not fit .{ty} ({low} to {high})"));
            }
            bytes.extend_from_slice(&value.to_le_bytes()[..n_bytes]);
        }
    }
    Ok(bytes)
}

/// Type of a member that is written without one.
fn plain_type(number: Number) -> ElementType {
    let fits = |ty: ElementType, value| ty.range().is_some_and(|(low, high)| low <= value && value <= high);
    match number {
        Number::Float(_) => ElementType::F32,
        Number::Integer(value) => [ElementType::S32, ElementType::U32, ElementType::S64]
            .into_iter()
            .find(|&ty| fits(ty, value))
            .unwrap_or(ElementType::U64),
    }
}

/// The element type of a variable; untyped bits read as unsigned.
pub fn element_of(ty: ScalarType) -> Option<ElementType> {
    match ty {
        ScalarType::B8 => Some(ElementType::U8),
        ScalarType::B16 => Some(ElementType::U16),
        ScalarType::B32 => Some(ElementType::U32),
        ScalarType::B64 => Some(ElementType::U64),
        _ => ElementType::from_name(ty.name()),
    }
}

impl From<Vec<u8>> for Words {
    fn from(bytes: Vec<u8>) -> Self {
        Self { bytes, pointers: Vec::new(), handles: Vec::new() }
    }
}

impl Words {
    /// Writes `words` at a position, with zeros before it where needed.
    fn put(&mut self, at: usize, words: Self) {
        let end = at + words.bytes.len();
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        self.bytes[at..end].copy_from_slice(&words.bytes);
        self.pointers.extend(words.pointers.into_iter().map(|pointer| Pointer { at: at + pointer.at, ..pointer }));
        self.handles.extend(words.handles.into_iter().map(|(own, object)| (at + own, object)));
    }

    fn padded(mut self, size: usize) -> Self {
        self.bytes.resize(size, 0);
        self
    }

    /// The bytes with every address and handle written in, given where each buffer lies and which handle an object has.
    pub fn resolved(&self, address_of: impl Fn(BufferId) -> u64, handle_of: impl Fn(ObjectId) -> u64) -> Vec<u8> {
        let mut bytes = self.bytes.clone();
        for pointer in &self.pointers {
            let address = (address_of(pointer.buffer) + pointer.offset).to_le_bytes();
            bytes[pointer.at..pointer.at + pointer.bytes].copy_from_slice(&address[..pointer.bytes]);
        }
        for &(at, object) in &self.handles {
            bytes[at..at + HANDLE_BYTES as usize].copy_from_slice(&handle_of(object).to_le_bytes());
        }
        bytes
    }
}

#[cfg(test)]
mod tests;
