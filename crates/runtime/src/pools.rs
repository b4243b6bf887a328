//! Pools of memory: handles with attributes. All memory comes from one place, and is free again when it is freed.

use std::collections::BTreeMap;

use crate::handles::{Handle, Table};
use crate::memory::MemoryKind;
use crate::runtime::Runtime;
use crate::status::{Result, Status};

/// Attributes that a program sets: what may be used again, and how much is kept.
const SETTABLE: std::ops::RangeInclusive<i32> = 1..=4;
/// Attributes that are told: reserved and used bytes, now and at most.
const RESERVED: i32 = 5;
const RESERVED_MOST: i32 = 6;
const USED: i32 = 7;
const USED_MOST: i32 = 8;
/// Bytes that are kept.
const RELEASE_THRESHOLD: i32 = 4;

/// A pool.
#[derive(Clone, Default, Debug)]
pub struct Pool {
    attributes: BTreeMap<i32, u64>,
    used: u64,
    most: u64,
}

/// All pools.
#[derive(Debug)]
pub(crate) struct Pools {
    pools: Table<Pool>,
    default: Option<Handle>,
    /// The pool that allocations without one come from.
    current: Option<Handle>,
    /// What came from which pool.
    memory: BTreeMap<u64, (Handle, u64)>,
}

impl Default for Pools {
    fn default() -> Self {
        Self { pools: Table::new(11), default: None, current: None, memory: BTreeMap::new() }
    }
}

impl Runtime {
    /// Makes a pool.
    pub fn create_pool(&mut self) -> Handle {
        self.pools.pools.insert(Pool::default())
    }

    /// The pool that is always there.
    pub fn default_pool(&mut self) -> Handle {
        match self.pools.default {
            Some(pool) => pool,
            None => {
                let pool = self.create_pool();
                self.pools.default = Some(pool);
                pool
            }
        }
    }

    /// The pool that allocations without one come from.
    pub fn current_pool(&mut self) -> Handle {
        match self.pools.current {
            Some(pool) => pool,
            None => self.default_pool(),
        }
    }

    /// Replaces it.
    pub fn set_current_pool(&mut self, pool: Handle) -> Result<()> {
        self.pool(pool)?;
        self.pools.current = Some(pool);
        Ok(())
    }

    /// Takes a pool away; its allocations stay until they are freed.
    pub fn destroy_pool(&mut self, pool: Handle) -> Result<()> {
        if self.pools.default == Some(pool) {
            return Err(Status::INVALID_VALUE);
        }
        self.pools.current = self.pools.current.filter(|&current| current != pool);
        self.pools.pools.remove(pool).map(drop).ok_or(Status::INVALID_VALUE)
    }

    /// Refuses what is no pool.
    pub fn is_pool(&self, pool: Handle) -> Result<()> {
        self.pool(pool).map(drop)
    }

    fn pool(&self, pool: Handle) -> Result<&Pool> {
        self.pools.pools.get(pool).ok_or(Status::INVALID_VALUE)
    }

    /// Whether an attribute has 64 bits; the others have 32. None where there is no such attribute.
    pub fn is_wide_pool_attribute(attribute: i32) -> Option<bool> {
        (1..=USED_MOST).contains(&attribute).then_some(attribute >= RELEASE_THRESHOLD)
    }

    /// An attribute of a pool.
    pub fn pool_attribute(&self, pool: Handle, attribute: i32) -> Result<u64> {
        let pool = self.pool(pool)?;
        match attribute {
            RESERVED | USED => Ok(pool.used),
            RESERVED_MOST | USED_MOST => Ok(pool.most),
            RELEASE_THRESHOLD => Ok(pool.attributes.get(&attribute).copied().unwrap_or(0)),
            // What was freed may be used again in every order.
            _ if SETTABLE.contains(&attribute) => Ok(pool.attributes.get(&attribute).copied().unwrap_or(1)),
            _ => Err(Status::INVALID_VALUE),
        }
    }

    /// Sets an attribute of a pool; how much it had at most can be set to 0.
    pub fn set_pool_attribute(&mut self, pool: Handle, attribute: i32, value: u64) -> Result<()> {
        let pool = self.pools.pools.get_mut(pool).ok_or(Status::INVALID_VALUE)?;
        match attribute {
            RESERVED_MOST | USED_MOST if value == 0 => pool.most = pool.used,
            _ if SETTABLE.contains(&attribute) => drop(pool.attributes.insert(attribute, value)),
            _ => return Err(Status::INVALID_VALUE),
        }
        Ok(())
    }

    /// Allocates memory of a pool.
    pub fn allocate_from(&mut self, pool: Handle, call: &str, bytes: u64) -> Result<u64> {
        self.pool(pool)?;
        let address = self.allocate_in_order(call, bytes)?;
        self.note_allocation(call, address, bytes);
        if let Some(of) = self.pools.pools.get_mut(pool) {
            of.used += bytes;
            of.most = of.most.max(of.used);
        }
        self.pools.memory.insert(address, (pool, bytes));
        Ok(address)
    }

    /// Frees memory in the order of a stream.
    pub fn free_in_order(&mut self, address: u64) -> Result<()> {
        self.free_now(address, &[MemoryKind::Device, MemoryKind::Managed])
    }

    /// Memory that is freed is none of its pool any more.
    pub(crate) fn leave_pool(&mut self, address: u64) {
        if let Some((pool, bytes)) = self.pools.memory.remove(&address)
            && let Some(pool) = self.pools.pools.get_mut(pool)
        {
            pool.used -= bytes;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::runtime::tests::runtime;

    #[test]
    fn pools_know_what_came_from_them() {
        let mut runtime = runtime();
        let pool = runtime.create_pool();
        let memory = runtime.allocate_from(pool, "pool", 100).unwrap();
        assert_eq!((runtime.pool_attribute(pool, USED), runtime.pool_attribute(pool, USED_MOST)), (Ok(100), Ok(100)));
        runtime.free_in_order(memory).unwrap();
        assert_eq!((runtime.pool_attribute(pool, USED), runtime.pool_attribute(pool, USED_MOST)), (Ok(0), Ok(100)));
        assert_eq!(runtime.set_pool_attribute(pool, USED_MOST, 0), Ok(()));
        assert_eq!(runtime.set_pool_attribute(pool, USED, 0), Err(Status::INVALID_VALUE));
        runtime.set_pool_attribute(pool, RELEASE_THRESHOLD, u64::MAX).unwrap();
        assert_eq!(runtime.pool_attribute(pool, RELEASE_THRESHOLD), Ok(u64::MAX));
        let default = runtime.default_pool();
        assert_eq!((runtime.current_pool(), runtime.destroy_pool(default)), (default, Err(Status::INVALID_VALUE)));
        runtime.set_current_pool(pool).unwrap();
        assert_eq!(runtime.current_pool(), pool);
        runtime.destroy_pool(pool).unwrap();
        assert_eq!((runtime.current_pool(), runtime.is_pool(pool)), (default, Err(Status::INVALID_VALUE)));
    }
}
