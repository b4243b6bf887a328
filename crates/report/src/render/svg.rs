//! Figures as SVG: for a page of HTML as it is, and as a file of its own.
//!
//! Colours are attributes for plain viewers, and classes with CSS variables above them, so that a figure follows a light
//! or dark theme: that of the system, or that of a page which sets `data-theme` on an element around it.

use std::fmt::Write as _;

use super::picture::{self, Anchor, FAMILIES, Fill, Ink, Scene, Shape, Step, Stroke};
use crate::figure::Figure;

/// Renders a figure. The text ends with a line feed and has no XML declaration, so that it fits into HTML.
pub fn figure(figure: &Figure) -> String {
    let scene = picture::scene(figure);
    let id: String = figure.id.chars().filter(|c| c.is_ascii_alphanumeric() || matches!(c, '-' | '_')).collect();
    let mut svg = String::new();
    // Writing to a string cannot fail.
    let _ = write(&mut svg, &scene, figure, &id);
    svg
}

fn write(svg: &mut String, scene: &Scene, figure: &Figure, id: &str) -> std::fmt::Result {
    let (width, height) = (number(scene.width), number(scene.height));
    writeln!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"warplens-figure\" width=\"{width}\" height=\"{height}\" \
         viewBox=\"0 0 {width} {height}\" role=\"img\" aria-labelledby=\"{id}-title {id}-caption\" \
         font-family=\"{FAMILIES}\">"
    )?;
    writeln!(svg, "<title id=\"{id}-title\">{}</title>", escaped(&figure.title))?;
    writeln!(svg, "<desc id=\"{id}-caption\">{}</desc>", escaped(&figure.caption))?;
    writeln!(svg, "<style>{}</style>", style())?;
    let (fill, class) = (hex(Ink::Back.light()), Ink::Back.class().unwrap_or_default());
    writeln!(svg, "<rect class=\"f-{class}\" width=\"{width}\" height=\"{height}\" fill=\"{fill}\"/>")?;
    scene.shapes.iter().try_for_each(|shape| write_shape(svg, shape))?;
    svg.push_str("</svg>\n");
    Ok(())
}

fn write_shape(svg: &mut String, shape: &Shape) -> std::fmt::Result {
    match shape {
        Shape::Rect { area, fill, stroke } => {
            let (width, height) = (number(area.width), number(area.height));
            let looks = looks(*fill, *stroke);
            let (x, y) = (number(area.x), number(area.y));
            writeln!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\"{looks}/>")
        }
        Shape::Path { steps, fill, stroke } => {
            let mut path = String::new();
            for step in steps {
                match step {
                    Step::Move(x, y) => write!(path, "M{} {}", number(*x), number(*y))?,
                    Step::Line(x, y) => write!(path, "L{} {}", number(*x), number(*y))?,
                    Step::Close => path.push('Z'),
                }
            }
            writeln!(svg, "<path d=\"{path}\"{}/>", looks(*fill, *stroke))
        }
        Shape::Text { at, text, size, anchor, upwards, ink } => {
            let (x, y) = (number(at.0), number(at.1));
            let anchor = match anchor {
                Anchor::Start => "",
                Anchor::Middle => " text-anchor=\"middle\"",
                Anchor::End => " text-anchor=\"end\"",
            };
            let turn = if *upwards { format!(" transform=\"rotate(-90 {x} {y})\"") } else { String::new() };
            let (size, text) = (number(*size), escaped(text));
            writeln!(
                svg,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\"{anchor}{turn}{}>{text}</text>",
                painted("fill", *ink)
            )
        }
    }
}

/// Attributes of the inside and the outline.
fn looks(fill: Option<Fill>, stroke: Option<Stroke>) -> String {
    let mut classes = Vec::new();
    let mut attributes = String::new();
    let mut paint = |kind: char, name: &str, ink: Ink, opacity: f64| {
        classes.extend(ink.class().map(|class| format!("{kind}-{class}")));
        attributes.push_str(&format!(" {name}=\"{}\"", hex(ink.light())));
        if opacity < 1.0 {
            attributes.push_str(&format!(" {name}-opacity=\"{}\"", number(opacity)));
        }
    };
    match fill {
        Some(fill) => paint('f', "fill", fill.ink, fill.opacity),
        None => attributes.push_str(" fill=\"none\""),
    }
    if let Some(stroke) = stroke {
        let mut paint = |kind: char, name: &str| {
            classes.extend(stroke.ink.class().map(|class| format!("{kind}-{class}")));
            attributes.push_str(&format!(" {name}=\"{}\"", hex(stroke.ink.light())));
        };
        paint('s', "stroke");
        attributes.push_str(&format!(" stroke-width=\"{}\"", number(stroke.width)));
        if !stroke.dashes.is_empty() {
            let dashes: Vec<String> = stroke.dashes.iter().map(|&dash| number(dash)).collect();
            attributes.push_str(&format!(" stroke-dasharray=\"{}\"", dashes.join(" ")));
        }
    }
    if classes.is_empty() { attributes } else { format!(" class=\"{}\"{attributes}", classes.join(" ")) }
}

fn painted(name: &str, ink: Ink) -> String {
    let class = ink.class().map(|class| format!(" class=\"f-{class}\"")).unwrap_or_default();
    format!("{class} {name}=\"{}\"", hex(ink.light()))
}

/// Rules for every class: a variable of its own, which a page may set, else the theme's colour. They are the same for all
/// figures, so that the content security policy of a page can name them by their hash.
pub fn style() -> String {
    const FIGURE: &str = "svg.warplens-figure";
    let theme = |dark: bool| -> String {
        let color = |(class, light, night)| format!("--{class}:{};", hex(if dark { night } else { light }));
        picture::classes().map(color).collect()
    };
    let rules: String = picture::classes()
        .map(|(class, ..)| {
            format!("{FIGURE} .f-{class}{{fill:var(--{class})}}{FIGURE} .s-{class}{{stroke:var(--{class})}}")
        })
        .collect();
    let (light, dark) = (theme(false), theme(true));
    format!(
        "{FIGURE}{{{light}}}@media(prefers-color-scheme:dark){{{FIGURE}{{{dark}}}}}[data-theme=light] {FIGURE}{{{light}}}\
         [data-theme=dark] {FIGURE}{{{dark}}}{rules}"
    )
}

fn hex((red, green, blue): (u8, u8, u8)) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Two digits after the point, less where they are zeros.
fn number(value: f64) -> String {
    let text = format!("{value:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_owned() } else { text.to_owned() }
}

/// Text without what XML takes for its own, or does not allow.
fn escaped(text: &str) -> String {
    let allowed = |c: &char| !c.is_control() && !matches!(c, '\u{fffe}' | '\u{ffff}');
    let text: String = text.chars().map(|c| if c == '\n' { ' ' } else { c }).filter(allowed).collect();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}
