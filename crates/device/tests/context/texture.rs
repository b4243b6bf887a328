//! Textures, samplers and surfaces by checked handles.

use warplens_device::{Context, Error};
use warplens_exec::texture::ObjectError;
use warplens_exec::{ExecError, HandleFault, TextureFault};
use warplens_isa::{Channel, Filter, Geometry, OpaqueType, ReadMode, Sampler, TexelFormat, TexelLayout, TexelShape};

use crate::support::{context, load, run, u32_at, words};

/// Fetches the texel at 1.5 and stores it.
const FETCH: &str = "
.visible .entry k(.param .u64 out, .param .u64 texture)
{
    .reg .b32 %r<5>; .reg .b64 %rd<3>;
    ld.param.u64 %rd1, [out];
    ld.param.u64 %rd2, [texture];
    tex.1d.v4.u32.f32 {%r1, %r2, %r3, %r4}, [%rd2, {0f3FC00000}];
    st.global.u32 [%rd1], %r1;
    ret;
}";

fn line(width: u32) -> TexelShape {
    TexelShape {
        format: TexelFormat::new(Channel::U32, 1).unwrap(),
        layout: TexelLayout::Array,
        geometry: Geometry::Line,
        extent: [width, 1, 1],
        layers: 1,
        levels: 1,
    }
}

/// A context with a buffer of four words, where it lies, and a place for a result.
fn prepared() -> (Context, warplens_device::Allocation, u64, u64) {
    let mut context = context();
    let texels = context.allocate("texels", 16).unwrap();
    let out = context.allocate("out", 4).unwrap();
    let (address, _) = context.extent(texels).unwrap();
    let (out, _) = context.extent(out).unwrap();
    context.write(address, &words(&[10, 20, 30, 40])).unwrap();
    (context, texels, address, out)
}

#[test]
fn objects_are_what_they_were_made_of_until_they_are_destroyed() {
    let (mut context, _, address, out) = prepared();
    let module = load(&mut context, FETCH);
    let sampler = Sampler { filter: Filter::Point, ..Sampler::default() };
    let texture = context.create_texture(address, line(4), sampler, ReadMode::Element).unwrap();
    let surface = context.create_surface(address, line(4)).unwrap();
    let sampler = context.create_sampler(sampler).unwrap();
    assert_eq!(context.texture(texture).unwrap().resource.address, address);
    assert_eq!(context.surface(surface).unwrap().shape, line(4));
    run(&mut context, module, "k", &[out, texture]).unwrap();
    assert_eq!(u32_at(&context, out), 20);

    let fault = |handle, fault| Error::Handle { handle, fault };
    let other = HandleFault::Other(OpaqueType::Surface);
    assert_eq!(context.texture(surface).unwrap_err(), fault(surface, other));
    assert_eq!(context.destroy_object(surface, OpaqueType::Texture).unwrap_err(), fault(surface, other));
    assert_eq!(context.surface(17).unwrap_err(), fault(17, HandleFault::Unknown));
    for (handle, kind) in
        [(texture, OpaqueType::Texture), (surface, OpaqueType::Surface), (sampler, OpaqueType::Sampler)]
    {
        context.destroy_object(handle, kind).unwrap();
        assert_eq!(context.destroy_object(handle, kind).unwrap_err(), fault(handle, HandleFault::Destroyed));
    }
    let again = context.create_texture(address, line(4), Sampler::default(), ReadMode::Element).unwrap();
    assert_ne!(again, texture, "a handle stands for one object for ever");
}

#[test]
fn kernels_notice_handles_that_do_not_serve() {
    let (mut context, texels, address, out) = prepared();
    let module = load(&mut context, FETCH);
    let texture = context.create_texture(address, line(4), Sampler::default(), ReadMode::Element).unwrap();
    let surface = context.create_surface(address, line(4)).unwrap();
    let fails = |context: &mut Context, handle: u64, expected: HandleFault| {
        let error = run(context, module, "k", &[out, handle]).unwrap_err();
        let Error::Launch(ExecError::Texture(error)) = error else { panic!("{error:?}") };
        assert_eq!(error.fault, TextureFault::Handle(expected));
        assert_eq!(error.thread.thread, [0; 3]);
    };
    fails(&mut context, 5, HandleFault::Unknown);
    fails(&mut context, surface, HandleFault::Other(OpaqueType::Surface));
    context.free(texels).unwrap();
    fails(&mut context, texture, HandleFault::Freed);
    context.destroy_object(texture, OpaqueType::Texture).unwrap();
    fails(&mut context, texture, HandleFault::Destroyed);
}

#[test]
fn objects_need_texels_that_exist() {
    let (mut context, _, address, _) = prepared();
    let mut create = |address, shape| {
        let error = context.create_surface(address, shape).unwrap_err();
        let Error::Object(error) = error else { panic!("{error:?}") };
        error
    };
    assert!(matches!(create(address, line(5)), ObjectError::Outside { bytes: 20, .. }));
    assert!(matches!(create(address + 2, line(1)), ObjectError::Misaligned { texel: 4, .. }));
    assert!(matches!(create(address, line(0)), ObjectError::Extent(_)));
    let layout = TexelLayout::Pitch(6);
    let plane = TexelShape { layout, geometry: Geometry::Plane, extent: [2, 2, 1], ..line(2) };
    assert!(matches!(create(address, plane), ObjectError::Pitch { pitch: 6, row: 8, .. }));
    let cube = TexelShape { geometry: Geometry::Cube, extent: [1, 2, 1], ..line(1) };
    assert!(matches!(create(address, cube), ObjectError::NotSquare(1, 2)));
}
