//! The X-model against its paper, against what must hold of it whatever its parameters, and against measured f(k).

mod paper;
mod properties;
mod stream;
