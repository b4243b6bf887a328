//! Names of places in a module.

use warplens_base::define_id;

define_id! {
    /// One instruction of the source, unique in its module. An instruction that lowers to several operations gives all
    /// of them its `Pc`; counts go by `Pc`.
    pub struct Pc("pc");
    /// One basic block, unique in its module.
    pub struct BlockId("b");
}
