//! Textures, surfaces and samplers as arguments.

use warplens_isa::{AddressMode, Filter, Geometry, ReadMode, TexelLayout, TexelShape};

use super::{Argument, ObjectValue, Value};
use crate::element::ElementType;
use crate::texture::Texels;

fn parsed(text: &str) -> ObjectValue {
    match Argument::parse(text).map(|argument| argument.value) {
        Ok(Value::Object(object)) => *object,
        other => panic!("{text}: {other:?}"),
    }
}

fn shape(text: &str) -> Result<TexelShape, String> {
    parsed(text).settings.texels.shape(ElementType::F32, 256)
}

#[test]
fn shapes_follow_from_what_is_said() {
    let of = |text: &str| {
        let shape = shape(text).expect(text);
        (shape.geometry, shape.layout, shape.extent, shape.layers, shape.levels)
    };
    use Geometry as G;
    let array = TexelLayout::Array;
    assert_eq!(of("texture(f32[64])"), (G::Line, TexelLayout::Linear, [64, 1, 1], 1, 1));
    assert_eq!(of("texture(f32[64], format=f32x4)"), (G::Line, TexelLayout::Linear, [16, 1, 1], 1, 1));
    assert_eq!(of("texture(&0, width=64)"), (G::Line, array, [64, 1, 1], 1, 1));
    assert_eq!(of("texture(&0, width=8, layout=linear)"), (G::Line, TexelLayout::Linear, [8, 1, 1], 1, 1));
    assert_eq!(of("texture(&0, width=8, height=4)"), (G::Plane, array, [8, 4, 1], 1, 1));
    assert_eq!(of("texture(&0, width=8, height=4, pitch=64)"), (G::Plane, TexelLayout::Pitch(64), [8, 4, 1], 1, 1));
    assert_eq!(of("texture(&0, width=4, height=4, depth=2, levels=2)"), (G::Volume, array, [4, 4, 2], 1, 2));
    assert_eq!(of("surface(&0, width=8, layers=3)"), (G::Lines, array, [8, 1, 1], 3, 1));
    assert_eq!(of("texture(&0, width=2, cube=true, layers=2)"), (G::Cubes, array, [2, 2, 1], 2, 1));
    assert_eq!(shape("texture(&0, height=4)"), Err("its width is missing".into()));
    let no_format = Texels::default().shape(ElementType::F64, 8).unwrap_err();
    assert_eq!(no_format, "no texel is f64; say what it is, for example format=f32x4");
}

#[test]
fn samplers_are_as_they_are_written() {
    let object = parsed(
        "texture(&0, filter=linear, address=wrap, address_y=border, normalized=true, border=(0,0.5,0,1), read=normalized)",
    )
    .settings;
    assert_eq!(object.sampler.address, [AddressMode::Wrap, AddressMode::Border, AddressMode::Wrap]);
    assert_eq!((object.sampler.filter, object.sampler.normalized), (Filter::Linear, true));
    assert_eq!((object.sampler.border, object.read), ([0.0, 0.5, 0.0, 1.0], ReadMode::Normalized));
    assert_eq!(parsed("sampler()").resource, None);
    assert_eq!(parsed("sampler(filter=linear)").settings.sampler.filter, Filter::Linear);
}

#[test]
fn errors_say_what_is_accepted() {
    for (text, at, message) in [
        ("texture(5)", 8, "the texels are a buffer such as f32[64] or a reference such as &0"),
        ("texture(&0, widht=4)", 12, "a texture has no setting `widht`"),
        ("surface(&0, filter=linear)", 12, "a surface has no setting `filter`"),
        ("sampler(width=4)", 8, "a sampler has no setting `width`"),
        ("texture(&0, width=0)", 18, "a whole number of at least 1 and at most 32 bits is needed"),
        ("texture(&0, filter=cubic)", 19, "expected point or linear, found `c`"),
        ("texture(&0, format=f32x3)", 19, "`f32x3` is no format of a texel"),
        ("texture(&0, border=(1,2))", 19, "a border has four channels"),
        ("texture(&0; width=4)", 10, "expected `,` or `)`, found `;`"),
    ] {
        let error = Argument::parse(text).expect_err(text);
        assert_eq!((error.span.start, error.message.as_str()), (at, message), "{text}");
    }
}
