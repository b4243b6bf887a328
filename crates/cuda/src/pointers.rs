//! What C hands in: pointers as types that say what may be done with them.
//!
//! Each type is a pointer with a promise that CUDA's headers make in C: it is null or it points to what the declaration of
//! the function says, for as long as the call takes. The types are made by C alone, as arguments of exported functions,
//! which are unsafe to call. So all that follows pointers is here.

use std::ffi::{CStr, c_char, c_void};

use warplens_runtime::Status;

type Result<T> = std::result::Result<T, Status>;

/// A place for a result; null where nobody wants it, or by mistake.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Out<T>(*mut T);

impl<T> Out<T> {
    /// Stores a result that must be wanted.
    pub(crate) fn set(self, value: T) -> Result<()> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        self.set_if_wanted(value);
        Ok(())
    }

    /// Where it is.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// Stores a result where it is wanted.
    pub(crate) fn set_if_wanted(self, value: T) {
        if !self.0.is_null() {
            // SAFETY: the promise of the type: it is valid for a write of a `T`. C may not have aligned it.
            unsafe { self.0.write_unaligned(value) };
        }
    }
}

impl<T: Copy> Out<T> {
    /// The place at which C hands in memory only: the caller knows by the version what it is.
    pub(crate) fn of_memory(memory: Memory) -> Self {
        Self(memory.0.cast())
    }

    /// Stores the elements of an array for which there is room.
    pub(crate) fn set_list(self, values: &[T]) -> Result<()> {
        if self.0.is_null() && !values.is_empty() {
            return Err(Status::INVALID_VALUE);
        }
        for (index, value) in values.iter().enumerate() {
            // SAFETY: the promise of the type, for as many elements as the function's other arguments say.
            unsafe { self.0.add(index).write_unaligned(*value) };
        }
        Ok(())
    }

    /// What is there before a result is stored.
    pub(crate) fn get(self) -> Result<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type: C reads it afterwards, and has filled it in before where the function says so.
        Ok(unsafe { self.0.read_unaligned() })
    }

    /// True where nobody wants the result.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }
}

impl Out<u32> {
    /// The same place for a word, where the function stores one in place of a wider number.
    pub(crate) fn of(wide: Out<u64>) -> Self {
        Self(wide.0.cast())
    }
}

impl Out<u8> {
    /// The same place for a byte, where the function stores one in place of a wider number.
    pub(crate) fn of(wide: Out<u64>) -> Self {
        Self(wide.0.cast())
    }

    /// Stores bytes from the place on, which must be wanted.
    pub(crate) fn set_bytes(self, bytes: &[u8]) -> Result<()> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type, for as many bytes as the structure has that the function stores.
        unsafe { self.0.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        Ok(())
    }

    /// Stores a text of at most `length` bytes with the zero that ends it.
    pub(crate) fn set_text(self, text: &str, length: i32) -> Result<()> {
        let length = usize::try_from(length).ok().filter(|&length| length > 0).ok_or(Status::INVALID_VALUE)?;
        let kept = text.as_bytes();
        let kept = &kept[..kept.len().min(length - 1)];
        self.set_bytes(&[kept, &[0]].concat())
    }
}

/// A structure that a function reads.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct In<T>(*const T);

impl<T: Copy> In<T> {
    /// So many elements of an array, which the caller knows to be there.
    pub(crate) fn list(self, count: usize) -> Result<Vec<T>> {
        (0..count).map(|index| self.at(index)).collect()
    }

    /// The structure.
    pub(crate) fn get(self) -> Result<T> {
        self.at(0)
    }

    /// The element of an array with this number, which the caller knows to be there.
    pub(crate) fn at(self, index: usize) -> Result<T> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type, for as many elements as the function's other arguments say.
        Ok(unsafe { self.0.add(index).read_unaligned() })
    }

    /// True where nothing is handed in.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Where it is.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// The structure in memory that C hands in as memory only: the caller knows by its first word what it is.
    pub(crate) fn of(memory: Memory) -> Self {
        Self(memory.0.cast_const().cast())
    }
}

/// A text that ends with a zero.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Text(*const c_char);

impl Text {
    /// The text in memory that C hands in as memory only.
    pub(crate) fn of(memory: Memory) -> Self {
        Self(memory.0.cast_const().cast())
    }

    /// True where nothing is handed in.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// The text.
    pub(crate) fn get(self) -> Result<String> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type: a zero follows.
        let text = unsafe { CStr::from_ptr(self.0) };
        Ok(text.to_string_lossy().into_owned())
    }
}

/// Memory, of the host or of the device, of which only the address is known.
#[repr(transparent)]
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) struct Memory(*mut c_void);

impl Memory {
    /// Memory at an address.
    pub(crate) fn at(address: u64) -> Self {
        Self(std::ptr::with_exposed_provenance_mut(address as usize))
    }

    /// Bytes of ours, which are read only while they are there.
    pub(crate) fn of(bytes: &[u8]) -> Self {
        Self(bytes.as_ptr().cast_mut().cast())
    }

    /// The same of words.
    pub(crate) fn of_words(words: &[u64]) -> Self {
        Self(words.as_ptr().cast_mut().cast())
    }

    /// Its address.
    pub(crate) fn address(self) -> u64 {
        self.0.expose_provenance() as u64
    }

    /// So many bytes further on.
    pub(crate) fn offset(self, bytes: usize) -> Self {
        Self(self.0.wrapping_byte_add(bytes))
    }

    /// Bytes of the host that a function reads.
    pub(crate) fn with_bytes<T>(self, bytes: usize, work: impl FnOnce(&[u8]) -> Result<T>) -> Result<T> {
        if bytes == 0 {
            return work(&[]);
        }
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type: memory of the host, of as many bytes as the function's arguments say, which no
        // one writes during the call.
        work(unsafe { std::slice::from_raw_parts(self.0.cast(), bytes) })
    }

    /// Bytes of the host that a function stores.
    pub(crate) fn with_bytes_mut<T>(self, bytes: usize, work: impl FnOnce(&mut [u8]) -> Result<T>) -> Result<T> {
        if bytes == 0 {
            return work(&mut []);
        }
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type: memory of the host, of as many bytes as the function's arguments say, which no
        // one touches during the call.
        work(unsafe { std::slice::from_raw_parts_mut(self.0.cast(), bytes) })
    }

    /// Copies bytes within the host.
    pub(crate) fn copy_from(self, from: Self, bytes: usize) -> Result<()> {
        if bytes == 0 {
            return Ok(());
        }
        if self.0.is_null() || from.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: the promise of the type for both; they may overlap.
        unsafe { self.0.cast::<u8>().copy_from(from.0.cast(), bytes) };
        Ok(())
    }
}

/// The arguments of a kernel: a pointer to each.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Arguments(*const *const c_void);

impl Arguments {
    /// True where there are none.
    pub(crate) fn is_null(self) -> bool {
        self.0.is_null()
    }

    /// Stores the argument with this number.
    pub(crate) fn copy_to(self, index: usize, to: &mut [u8]) -> Result<()> {
        if self.0.is_null() {
            return Err(Status::INVALID_VALUE);
        }
        // SAFETY: C hands in as many pointers as the kernel has parameters, each to as many bytes as the parameter has.
        let argument = unsafe { self.0.add(index).read_unaligned() };
        Memory(argument.cast_mut()).with_bytes(to.len(), |bytes| {
            to.copy_from_slice(bytes);
            Ok(())
        })
    }
}

/// A function of the program that is called back.
#[repr(transparent)]
#[derive(Clone, Copy)]
pub(crate) struct Callback<F>(Option<F>);

impl<F: Copy> Callback<F> {
    /// The function.
    pub(crate) fn get(self) -> Result<F> {
        self.0.ok_or(Status::INVALID_VALUE)
    }
}

/// What C means by a function of the program that is called back.
pub(crate) type HostFunction = unsafe extern "C" fn(*mut c_void);

/// A number for a function, by which it can be called later.
pub(crate) fn number_of(function: HostFunction) -> u64 {
    (function as *const c_void).expose_provenance() as u64
}

/// Calls the function with a number of [`number_of`].
pub(crate) fn call_number(number: u64, data: Memory) {
    let function: *const c_void = std::ptr::with_exposed_provenance(number as usize);
    // SAFETY: numbers are made of functions of this type, and nobody else makes or changes one.
    call(unsafe { std::mem::transmute::<*const c_void, HostFunction>(function) }, data);
}

/// Calls a function of the program with what it asked to be handed.
pub(crate) fn call(function: HostFunction, data: Memory) {
    // SAFETY: the program handed both in so that this call is made.
    unsafe { function(data.0) }
}

/// The same for the functions of `cudaStreamAddCallback`.
pub(crate) fn call_of_stream(
    function: unsafe extern "C" fn(*mut c_void, i32, *mut c_void),
    stream: Memory,
    data: Memory,
) {
    // SAFETY: the program handed all of it in so that this call is made.
    unsafe { function(stream.0, 0, data.0) }
}

/// Calls a function of the program that says how much dynamic shared memory a block of so many threads needs.
pub(crate) fn call_for_shared(function: unsafe extern "C" fn(i32) -> usize, threads: i32) -> usize {
    // SAFETY: the program handed it in so that this call is made.
    unsafe { function(threads) }
}

/// A text of ours that stays, for C.
pub(crate) fn leaked(text: &str) -> *const c_char {
    let mut bytes = text.as_bytes().to_vec();
    bytes.push(0);
    // There are as many as there are error codes and kernels.
    Vec::leak(bytes).as_ptr().cast()
}
