//! CUDA's error codes, which the driver and the runtime share but for a few, with their names and texts.

/// An error code; 0 is success.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Status(pub i32);

/// Code, name in the runtime, name in the driver, text; what an interface does not have is empty.
const TABLE: &str = include_str!("errors.txt");

macro_rules! codes {
    ($($(#[doc = $doc:literal])+ $name:ident = $code:literal;)*) => {
        impl Status {
            $($(#[doc = $doc])+ pub const $name: Self = Self($code);)*
        }
    };
}

codes! {
    /// It went well.
    SUCCESS = 0;
    /// An argument is out of its range.
    INVALID_VALUE = 1;
    /// There is no memory left.
    OUT_OF_MEMORY = 2;
    /// Nothing was started.
    NOT_INITIALIZED = 3;
    /// A launch that no device can run.
    INVALID_CONFIGURATION = 9;
    /// No variable of the device.
    INVALID_SYMBOL = 13;
    /// Rows that overlap.
    INVALID_PITCH = 12;
    /// A texture that no device has.
    INVALID_TEXTURE = 18;
    /// Texels that no array has.
    INVALID_CHANNEL_DESCRIPTOR = 20;
    /// A copy whose direction does not fit its pointers.
    INVALID_COPY_DIRECTION = 21;
    /// A function of the host that stands for no kernel.
    INVALID_DEVICE_FUNCTION = 98;
    /// There is no such device.
    INVALID_DEVICE = 101;
    /// What should hold code does not.
    INVALID_IMAGE = 200;
    /// No context, or one that is gone.
    INVALID_CONTEXT = 201;
    /// The program has no code that this GPU runs.
    NO_BINARY_FOR_GPU = 209;
    /// PTX that cannot be read.
    INVALID_PTX = 218;
    /// A file that is not there.
    FILE_NOT_FOUND = 301;
    /// A handle that stands for nothing.
    INVALID_HANDLE = 400;
    /// The call does not fit to what was called before.
    ILLEGAL_STATE = 401;
    /// There is nothing of this name.
    NOT_FOUND = 500;
    /// Work is still under way.
    NOT_READY = 600;
    /// A kernel accessed what it may not.
    ILLEGAL_ADDRESS = 700;
    /// A launch asks for more than an SM has.
    LAUNCH_OUT_OF_RESOURCES = 701;
    /// A kernel took too long.
    LAUNCH_TIMEOUT = 702;
    /// An assertion of a kernel failed.
    ASSERT = 710;
    /// The devices do not see each other's memory.
    PEER_ACCESS_NOT_ENABLED = 705;
    /// Memory of the host is registered already.
    ALREADY_REGISTERED = 712;
    /// Memory of the host is not registered.
    NOT_REGISTERED = 713;
    /// A kernel accessed an address that is no multiple of the access.
    MISALIGNED_ADDRESS = 716;
    /// A kernel ended by an error.
    LAUNCH_FAILED = 719;
    /// The call is not supported.
    NOT_SUPPORTED = 801;
    /// A captured stream cannot have the call.
    CAPTURE_UNSUPPORTED = 900;
    /// The capture failed by an earlier call.
    CAPTURE_INVALIDATED = 901;
    /// Two captures cannot become one.
    CAPTURE_MERGE = 902;
    /// A capture ends in another stream than it began in.
    CAPTURE_UNMATCHED = 903;
    /// A captured stream was not waited for.
    CAPTURE_UNJOINED = 904;
    /// A captured stream would wait for work that is not captured.
    CAPTURE_ISOLATION = 905;
    /// The default stream would wait for a captured stream.
    CAPTURE_IMPLICIT = 906;
    /// The event is in a captured stream.
    CAPTURED_EVENT = 907;
    /// A capture ends in another thread than it began in.
    CAPTURE_WRONG_THREAD = 908;
    /// What is performed cannot become that of another graph.
    GRAPH_EXEC_UPDATE_FAILURE = 910;
    /// Clusters that no GPU, or not this kernel, can have.
    INVALID_CLUSTER_SIZE = 912;
    /// Something that should not happen.
    UNKNOWN = 999;
}

impl Status {
    /// True if nothing went wrong.
    pub fn is_success(self) -> bool {
        self == Self::SUCCESS
    }

    /// An error after which the device takes no more work: it stays for every later call of the process.
    pub fn is_sticky(self) -> bool {
        matches!(self.0, 700 | 702 | 710 | 714..=719)
    }

    /// Its name in the runtime API.
    pub fn runtime_name(self) -> Option<&'static str> {
        self.column(1)
    }

    /// Its name in the driver API.
    pub fn driver_name(self) -> Option<&'static str> {
        self.column(2)
    }

    /// What it means, in CUDA's words.
    pub fn text(self) -> Option<&'static str> {
        self.column(3)
    }

    fn column(self, index: usize) -> Option<&'static str> {
        let row =
            TABLE.lines().find(|line| line.split('|').next().and_then(|code| code.parse().ok()) == Some(self.0))?;
        row.split('|').nth(index).filter(|text| !text.is_empty())
    }
}

/// Result of a call.
pub(crate) type Result<T> = std::result::Result<T, Status>;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_have_names_and_texts() {
        assert_eq!(Status::ILLEGAL_ADDRESS.runtime_name(), Some("cudaErrorIllegalAddress"));
        assert_eq!(Status::ILLEGAL_ADDRESS.driver_name(), Some("CUDA_ERROR_ILLEGAL_ADDRESS"));
        assert_eq!(Status::ILLEGAL_ADDRESS.text(), Some("an illegal memory access was encountered"));
        assert_eq!((Status(12345).runtime_name(), Status(-1).text()), (None, None));
        assert_eq!(Status::INVALID_CONFIGURATION.driver_name(), None);
    }

    #[test]
    fn errors_of_kernels_stay() {
        assert!(Status::ILLEGAL_ADDRESS.is_sticky() && Status::LAUNCH_FAILED.is_sticky());
        assert!(!Status::INVALID_VALUE.is_sticky() && !Status::NOT_FOUND.is_sticky());
    }
}
