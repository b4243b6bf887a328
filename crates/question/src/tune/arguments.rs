//! Arguments that depend on the point: `f32[{grid.x}]` is a buffer with an element for each block.

use super::expression::Expression;
use super::space::Point;
use warplens_base::error::{Error, Result};
use warplens_launch::{Launch, LaunchArgument};

/// A launch whose arguments may hold expressions in braces.
#[derive(Clone, PartialEq, Debug)]
pub struct LaunchTemplate {
    /// Everything but the shape and the arguments.
    pub launch: Launch,
    arguments: Vec<Argument>,
}

/// In the order in which they were given: an argument without a name goes by its position.
#[derive(Clone, PartialEq, Debug)]
enum Argument {
    /// The same at every point.
    Fixed(LaunchArgument),
    /// With expressions.
    Template(Template),
}

#[derive(Clone, PartialEq, Debug)]
struct Template {
    place: String,
    /// Texts and expressions by turns: a text first.
    parts: Vec<(String, Option<(String, Expression)>)>,
}

impl LaunchTemplate {
    /// A launch with further arguments over its own. Those without braces are read now.
    pub fn new(launch: Launch, arguments: &[String]) -> Result<Self> {
        let argument = |(number, text): (usize, &String)| {
            let place = format!("--arg {number}");
            Ok(match text.contains('{') {
                true => Argument::Template(Template::parse(place, text)?),
                false => Argument::Fixed(LaunchArgument::parse(&place, text)?),
            })
        };
        Ok(Self { launch, arguments: arguments.iter().enumerate().map(argument).collect::<Result<_>>()? })
    }

    fn templates(&self) -> impl Iterator<Item = &Template> {
        self.arguments.iter().filter_map(|argument| match argument {
            Argument::Fixed(_) => None,
            Argument::Template(template) => Some(template),
        })
    }

    /// The texts of the arguments that depend on the point.
    pub(super) fn texts(&self, point: &Point) -> std::result::Result<Vec<String>, String> {
        self.templates().map(|template| template.text(&point.numbers)).collect()
    }

    /// The launch of a point.
    pub(super) fn at(&self, point: &Point, texts: &[String]) -> Result<Launch> {
        let mut launch = self.launch.clone();
        (launch.grid, launch.block, launch.shared) = (Some(point.grid), Some(point.block), Some(point.shared));
        let mut texts = texts.iter();
        for argument in &self.arguments {
            launch.overrides.push(match argument {
                Argument::Fixed(argument) => argument.clone(),
                Argument::Template(template) => {
                    let text = texts.next().expect("there is a text for each template");
                    LaunchArgument::parse(&template.place, text)?
                }
            });
        }
        Ok(launch)
    }
}

impl Template {
    fn parse(place: String, text: &str) -> Result<Self> {
        let unclosed = || Error::usage(format!("{place} ({text}): a `{{` without its `}}`"));
        let mut parts = Vec::new();
        let mut rest = text;
        while let Some((before, after)) = rest.split_once('{') {
            let (inside, after) = after.split_once('}').ok_or_else(unclosed)?;
            let expression = Expression::parse(inside).map_err(|error| error.within(&place, inside))?;
            parts.push((before.to_owned(), Some((inside.to_owned(), expression))));
            rest = after;
        }
        parts.push((rest.to_owned(), None));
        Ok(Self { place, parts })
    }

    fn text(&self, numbers: &[(String, f64)]) -> std::result::Result<String, String> {
        let value_of = |name: &str| numbers.iter().find(|(own, _)| own == name).map(|(_, value)| *value);
        let mut text = String::new();
        for (before, expression) in &self.parts {
            text.push_str(before);
            if let Some((inside, expression)) = expression {
                let value = expression
                    .evaluate(&value_of)
                    .map_err(|error| format!("{} `{{{inside}}}`: {}", self.place, error.message))?;
                text.push_str(&value.to_string());
            }
        }
        Ok(text)
    }
}
