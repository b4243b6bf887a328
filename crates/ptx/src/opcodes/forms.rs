//! The forms of the opcode table, compiled from their text once per process.

use std::sync::LazyLock;

use warplens_isa::Family;

use super::shape::Shape;
use super::{FORMS, Opcode};
use crate::syntax::modifiers::Modifier;

/// Names that several rows share.
const GROUPS: &[(&str, &str)] = &[
    ("@int", "u16 u32 u64 s16 s32 s64"),
    ("@bits", "b16 b32 b64"),
    ("@half", "f16 f16x2 bf16 bf16x2"),
    ("@memory", "b8 b16 b32 b64 b128 u8 u16 u32 u64 s8 s16 s32 s64 f32 f64"),
    ("@narrow", "e4m3x2 e5m2x2 e2m3x2 e3m2x2 e2m1x2 e4m3x4 e5m2x4 e2m3x4 e3m2x4 e2m1x4 ue8m0x2 ue5m3x2 s2f6x2"),
    ("@reducible", "b32 b64 u32 u64 s32 s64 f16 f16x2 bf16 bf16x2 f32 f64 e5m2 e5m2x2 e5m2x4 e4m3 e4m3x2 e4m3x4"),
    ("@mma_type", "f16 bf16 tf32 f32 f64 s8 u8 s4 u4 b1 s32 e4m3 e5m2 e3m2 e2m3 e2m1"),
    ("@mma_sparse_type", "f16 bf16 tf32 f32 s8 u8 s4 u4 s32 e4m3 e5m2 e3m2 e2m3 e2m1"),
    ("@wmma_type", "f16 bf16 tf32 f32 f64 s8 u8 s4 u4 b1 s32"),
    ("@wgmma_type", "f16 bf16 tf32 f32 s8 u8 b1 s32 e4m3 e5m2"),
    ("@wgmma_sparse_type", "f16 bf16 tf32 f32 s8 u8 s32 e4m3 e5m2"),
    ("@round", "rn rz rm rp"),
    ("@compare", "eq ne lt le gt ge lo ls hi hs equ neu ltu leu gtu geu num nan"),
    ("@order", "relaxed acquire release acq_rel"),
    ("@scope", "cta cluster gpu sys"),
    ("@shared", "shared shared::cta shared::cluster"),
    ("@space3", "global shared shared::cta shared::cluster"),
    ("@load_space", "const global local param param::entry param::func shared shared::cta shared::cluster"),
    (
        "@constant_bank",
        "const[0] const[1] const[2] const[3] const[4] const[5] const[6] const[7] const[8] const[9] const[10]",
    ),
    (
        "@evict",
        "L1::evict_normal L1::evict_unchanged L1::evict_first L1::evict_last L1::no_allocate L2::evict_normal \
         L2::evict_first L2::evict_last",
    ),
    ("@policy", "L2 L2::evict_last L2::evict_normal L2::evict_first L2::evict_unchanged"),
    ("@prefetch", "L2::64B L2::128B L2::256B"),
    ("@atomic", "and or xor add inc dec min max"),
    ("@reduction", "and or xor add inc dec min max"),
    ("@dim", "1d 2d 3d 4d 5d"),
    ("@geometry", "1d 2d 3d a1d a2d cube acube 2dms a2dms"),
    ("@query", "width height depth channel_data_type channel_order normalized_coords array_size memory_layout"),
    ("@multicast", "multicast::cluster multicast::cluster::32b"),
    ("@override", "override::global_address override::global_dim override::global_dim_stride"),
    (
        "@report",
        "mbarrier::report::disabled mbarrier::report::fabric mbarrier::report::validity::per_16bytes::8 \
         mbarrier::report::validity::per_16bytes::80 mbarrier::report::validity::per_16bytes::8000 \
         mbarrier::report::validity::per_16bytes::80000000 mbarrier::report::validity::per_element::ff",
    ),
    ("@mma_sparse_shape", "m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128"),
    ("@mma_shape", "m8n8k4 m8n8k16 m8n8k32 m8n8k128 m16n8k4 m16n8k8 m16n8k16 m16n8k32 m16n8k64 m16n8k128 m16n8k256"),
    ("@wmma_shape", "m16n16k16 m8n32k16 m32n8k16 m16n16k8 m8n8k4 m8n8k32 m8n8k128"),
    ("@kind", "kind::f16 kind::tf32 kind::f8f6f4 kind::i8 kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4"),
    ("@scaled_kind", "kind::mxf8f6f4 kind::mxf4 kind::mxf4nvf4"),
    ("@tmem_shape", "16x64b 16x128b 16x256b 32x32b 16x32bx2"),
    ("@repeat", "x1 x2 x4 x8 x16 x32 x64 x128"),
    (
        "@collector",
        "collector::a::fill collector::a::use collector::a::lastuse collector::a::discard \
         collector::b0::fill collector::b0::use collector::b0::lastuse collector::b0::discard \
         collector::b1::fill collector::b1::use collector::b1::lastuse collector::b1::discard \
         collector::b2::fill collector::b2::use collector::b2::lastuse collector::b2::discard \
         collector::b3::fill collector::b3::use collector::b3::lastuse collector::b3::discard",
    ),
];

/// A form as the table writes it.
pub(super) struct FormText {
    family: Family,
    version: u8,
    needs: &'static str,
    others: &'static str,
    types: &'static str,
    operands: &'static str,
}

impl FormText {
    pub(super) const fn new(
        family: Family,
        (version, needs, others, types, operands): (u8, &'static str, &'static str, &'static str, &'static str),
    ) -> Self {
        Self { family, version, needs, others, types, operands }
    }

    fn compile(&self) -> Form {
        let needs = expand(self.needs);
        let type_names = self.types.trim_end_matches('?');
        let types = expand(type_names);
        let mut allowed = ModifierSet::default();
        for modifier in needs.iter().chain(&expand(self.others)).chain(&types) {
            allowed.insert(*modifier);
        }
        Form {
            family: self.family,
            version: (u16::from(self.version / 10), u16::from(self.version % 10)),
            needs,
            allowed,
            needs_type: !types.is_empty() && !self.types.ends_with('?'),
            shape: Shape::new(self.operands),
        }
    }
}

/// The modifiers of a list of names and groups.
fn expand(text: &str) -> Vec<Modifier> {
    let mut modifiers = Vec::new();
    for name in text.split_whitespace() {
        match name {
            "@wgmma_shape" => {
                modifiers.extend(Modifier::ALL.iter().filter(|modifier| modifier.name().starts_with("m64n")));
            }
            _ if name.starts_with('@') => {
                let group = GROUPS.iter().find(|(key, _)| *key == name).expect("the table names groups that exist").1;
                modifiers.extend(expand(group));
            }
            _ => modifiers.push(Modifier::from_name(name).expect("the table names modifiers that exist")),
        }
    }
    modifiers
}

/// One way to write an opcode.
#[derive(Debug)]
pub struct Form {
    /// What it is.
    pub family: Family,
    /// PTX version that brought it.
    pub version: (u16, u16),
    /// Modifiers that tell it from the other forms of its opcode.
    pub needs: Vec<Modifier>,
    /// Modifiers that may stand in it.
    pub allowed: ModifierSet,
    /// True when one of its modifiers must be a type.
    pub needs_type: bool,
    /// What its operands may be.
    pub shape: Shape,
}

/// A set of modifiers.
#[derive(Clone, PartialEq, Eq, Default, Debug)]
pub struct ModifierSet {
    words: [u64; Modifier::COUNT.div_ceil(64)],
}

impl ModifierSet {
    fn insert(&mut self, modifier: Modifier) {
        let index = modifier as usize;
        self.words[index / 64] |= 1 << (index % 64);
    }

    /// True when the modifier is in the set; never for [`Modifier::Unknown`].
    pub fn contains(&self, modifier: Modifier) -> bool {
        let index = modifier as usize;
        self.words.get(index / 64).is_some_and(|word| word >> (index % 64) & 1 == 1)
    }

    /// Its modifiers in declaration order.
    pub fn iter(&self) -> impl Iterator<Item = Modifier> + '_ {
        Modifier::ALL.iter().copied().filter(|modifier| self.contains(*modifier))
    }
}

static COMPILED: LazyLock<Vec<Vec<Form>>> =
    LazyLock::new(|| FORMS.iter().map(|forms| forms.iter().map(FormText::compile).collect()).collect());

impl Opcode {
    /// The ways to write the opcode; none for [`Opcode::Unknown`].
    pub fn forms(self) -> &'static [Form] {
        COMPILED.get(self as usize).map_or(&[], Vec::as_slice)
    }

    /// The form that an instruction with these modifiers is written in; where none fits, the last.
    pub fn form(self, modifiers: &[Modifier]) -> Option<&'static Form> {
        self.fitting_form(modifiers).or_else(|| self.forms().last())
    }

    /// What an instruction with these modifiers is. Where no form fits, that is known if all are of one family.
    pub fn family(self, modifiers: &[Modifier]) -> Family {
        match (self.fitting_form(modifiers), self.forms()) {
            (Some(form), _) => form.family,
            (None, [first, others @ ..]) if others.iter().all(|form| form.family == first.family) => first.family,
            (None, _) => Family::Unknown,
        }
    }

    fn fitting_form(self, modifiers: &[Modifier]) -> Option<&'static Form> {
        self.forms().iter().find(|form| form.needs.iter().all(|needed| modifiers.contains(needed)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_whole_table_compiles() {
        for opcode in Opcode::ALL {
            assert!(!opcode.forms().is_empty(), "{}", opcode.name());
        }
    }

    #[test]
    fn forms_are_told_apart_by_what_they_need() {
        use Modifier::{Async, Bulk, CommitGroup, F32, Relu, Tensor};
        let form = Opcode::Cp.form(&[Async, Bulk, Tensor]).expect("cp has forms");
        assert_eq!(form.needs, [Async, Bulk, Tensor]);
        let form = Opcode::Cp.form(&[Async, CommitGroup]).expect("cp has forms");
        assert_eq!(form.needs, [Async, CommitGroup]);
        let fma = Opcode::Fma.form(&[]).expect("fma has forms");
        assert!(fma.allowed.contains(Relu) && fma.allowed.contains(F32) && !fma.allowed.contains(Bulk));
        assert!(!fma.allowed.contains(Modifier::Unknown));
    }
}
