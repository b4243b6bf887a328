//! What the user sees when the program itself is at fault.

use std::io::Write;

/// Replaces the panic message by one that says whose fault it is and what to do.
pub(crate) fn install() {
    let standard = std::panic::take_hook();
    std::panic::set_hook(Box::new(move |panic| {
        standard(panic);
        let message = concat!(
            "\nThis is a bug in warplens ",
            env!("CARGO_PKG_VERSION"),
            ", not in your input. Please report it with the lines above, the command and, if you can share it, the input:\n  ",
            env!("CARGO_PKG_REPOSITORY"),
            "/issues\n"
        );
        // Nothing is left to be done when the message cannot be written.
        let _ = std::io::stderr().write_all(message.as_bytes());
    }));
}
