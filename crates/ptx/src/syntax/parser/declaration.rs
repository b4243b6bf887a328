//! Functions, parameters, variables and their initial values.

use warplens_base::{Diagnostic, Span};

use super::{Failed, Parsed, Parser};
use crate::syntax::ast::{
    Attribute, Declarator, FieldValue, Function, FunctionKind, Immediate, Initializer, Linkage, Name, Parameter,
    Pointer, Space, SymbolValue, Type, Variable,
};
use crate::syntax::lexer::TokenKind;

/// What may precede the name of a variable or parameter.
#[derive(Default)]
struct Properties<'src> {
    space: Option<Space>,
    attributes: Vec<Attribute<'src>>,
    align: Option<u32>,
    pointer: Option<Pointer>,
    vector: Option<u8>,
    ty: Option<Type>,
}

impl<'src> Parser<'src> {
    /// `.entry` or `.func`; the next token is that word.
    pub(super) fn function(&mut self, linkage: Linkage, start: u32) -> Parsed<Function<'src>> {
        let is_entry = self.take() == ".entry";
        let kind = if is_entry { FunctionKind::Entry } else { FunctionKind::Func };
        let attributes = self.attributes()?;
        let returns = if is_entry { Vec::new() } else { self.parameters()? };
        let name = self.name("the name of the function")?;
        let span = self.span_from(start);
        let parameters = self.parameters()?;
        let directives = self.function_directives();
        let body = if self.at(TokenKind::LeftBrace) {
            Some(self.body())
        } else {
            self.semicolon("the declaration")?;
            None
        };
        Ok(Function { kind, linkage, attributes, returns, name, parameters, directives, body, span })
    }

    /// `( parameter, ... )`, or nothing.
    pub(super) fn parameters(&mut self) -> Parsed<Vec<Parameter<'src>>> {
        let mut parameters = Vec::new();
        if !self.eat(TokenKind::LeftParen) || self.eat(TokenKind::RightParen) {
            return Ok(parameters);
        }
        loop {
            parameters.push(self.parameter()?);
            if self.eat(TokenKind::RightParen) {
                return Ok(parameters);
            }
            self.expect(TokenKind::Comma, "`,` or `)`")?;
        }
    }

    fn parameter(&mut self) -> Parsed<Parameter<'src>> {
        let start = self.token.start;
        let properties = self.properties()?;
        let (space, ty) = self.require(&properties, start)?;
        let name = self.name("the name of the parameter")?;
        let dimensions = self.dimensions()?;
        let Properties { align, pointer, vector, .. } = properties;
        Ok(Parameter { space, align, pointer, vector: vector.unwrap_or(1), ty, name, dimensions })
    }

    /// Space and type of a declaration; reports the one that is missing.
    fn require(&mut self, properties: &Properties<'src>, start: u32) -> Parsed<(Space, Type)> {
        match (properties.space, properties.ty) {
            (Some(space), Some(ty)) => Ok((space, ty)),
            (Some(_), None) => {
                self.report(
                    Diagnostic::error("P060", self.span_from(start), "the declaration has no type")
                        .with_help("add one, such as `.b32` or `.f32`"),
                );
                Err(Failed)
            }
            (None, _) if self.previous_end <= start => Err(self.unknown_directive("this place")),
            (None, _) => {
                self.report(
                    Diagnostic::error("P061", self.span_from(start), "the declaration has no state space")
                        .with_help("start it with .reg, .param, .shared, .local, .global or .const"),
                );
                Err(Failed)
            }
        }
    }

    fn properties(&mut self) -> Parsed<Properties<'src>> {
        let mut properties = Properties::default();
        while self.at(TokenKind::Dotted) {
            let token = self.token;
            let text = self.text(token);
            match text {
                ".align" => {
                    self.advance();
                    properties.align = Some(self.alignment()?);
                }
                ".attribute" => properties.attributes.extend(self.attributes()?),
                ".ptr" => properties.pointer = Some(self.pointer()?),
                ".v2" | ".v4" | ".v8" => {
                    self.advance();
                    properties.vector = text.as_bytes().get(2).map(|digit| digit - b'0');
                }
                _ => {
                    if let Some(space) = space(text).filter(|_| properties.space.is_none()) {
                        self.advance();
                        properties.space = Some(self.bank(space)?);
                    } else if let Some(ty) = Type::from_name(&text[1..]) {
                        self.advance();
                        properties.ty = Some(ty);
                    } else if properties.space.is_some() {
                        return Err(self.unknown_directive("a declaration"));
                    } else {
                        return Err(self.unknown_directive("this place"));
                    }
                }
            }
        }
        Ok(properties)
    }

    /// The bank of `.const[2]` in old modules.
    fn bank(&mut self, space: Space) -> Parsed<Space> {
        if space != Space::Const || !self.eat(TokenKind::LeftBracket) {
            return Ok(space);
        }
        let token = self.token;
        let bank = self.plain_count("a constant bank")?;
        self.expect(TokenKind::RightBracket, "`]`")?;
        match u8::try_from(bank) {
            Ok(bank @ 0..=10) => Ok(Space::ConstBank(bank)),
            _ => {
                let finding = Diagnostic::error("P041", token.span(), format!("there is no constant bank {bank}"));
                self.report(finding.with_help("banks are 0 to 10"));
                Err(Failed)
            }
        }
    }

    fn alignment(&mut self) -> Parsed<u32> {
        let start = self.token.start;
        let align = self.count("an alignment")?;
        if !align.is_power_of_two() {
            let finding = Diagnostic::error("P062", self.span_from(start), format!("{align} is not an alignment"));
            self.report(finding.with_help("alignments are powers of two"));
        }
        Ok(align)
    }

    /// `.ptr{.space}{.align n}`; the next token is `.ptr`.
    fn pointer(&mut self) -> Parsed<Pointer> {
        self.advance();
        let mut pointer = Pointer { space: None, align: None };
        if let Some(space) = space(self.text(self.token)) {
            self.advance();
            pointer.space = Some(space);
        }
        if self.at(TokenKind::Dotted) && self.text(self.token) == ".align" {
            self.advance();
            pointer.align = Some(self.alignment()?);
        }
        Ok(pointer)
    }

    /// Any number of `.attribute(.name, .name(1, 2))`.
    fn attributes(&mut self) -> Parsed<Vec<Attribute<'src>>> {
        let mut attributes = Vec::new();
        while self.at(TokenKind::Dotted) && self.text(self.token) == ".attribute" {
            self.advance();
            self.expect(TokenKind::LeftParen, "`(`")?;
            loop {
                attributes.push(self.attribute()?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::RightParen, "`)`")?;
        }
        Ok(attributes)
    }

    fn attribute(&mut self) -> Parsed<Attribute<'src>> {
        let token = self.expect(TokenKind::Dotted, "an attribute such as `.managed`")?;
        let name = Name { text: &self.text(token)[1..], span: Span::new(token.start + 1, token.end) };
        let mut values = Vec::new();
        if self.eat(TokenKind::LeftParen) {
            loop {
                values.push(self.constant()?);
                if !self.eat(TokenKind::Comma) {
                    break;
                }
            }
            self.expect(TokenKind::RightParen, "`)`")?;
        }
        Ok(Attribute { name, values })
    }

    /// A variable declaration; its linkage has been taken.
    pub(super) fn variable(&mut self, linkage: Linkage, start: u32) -> Parsed<Variable<'src>> {
        let here = self.token.start;
        let properties = self.properties()?;
        let (space, ty) = self.require(&properties, here)?;
        let mut declarators = vec![self.declarator()?];
        while self.eat(TokenKind::Comma) {
            declarators.push(self.declarator()?);
        }
        let span = self.span_from(start);
        self.semicolon("the declaration")?;
        let Properties { attributes, align, pointer, vector, .. } = properties;
        Ok(Variable { linkage, space, attributes, align, pointer, vector: vector.unwrap_or(1), ty, declarators, span })
    }

    fn declarator(&mut self) -> Parsed<Declarator<'src>> {
        let name = self.name("the name of a variable")?;
        let mut count = None;
        if self.eat(TokenKind::Less) {
            count = Some(self.plain_count("the number of registers")?);
            self.expect(TokenKind::Greater, "`>`")?;
        }
        let dimensions = self.dimensions()?;
        let initializer = if self.eat(TokenKind::Assign) { Some(self.initializer()?) } else { None };
        Ok(Declarator { name, count, dimensions, initializer })
    }

    /// `[4][]...`
    fn dimensions(&mut self) -> Parsed<Vec<Option<u64>>> {
        let mut dimensions = Vec::new();
        while self.eat(TokenKind::LeftBracket) {
            if self.eat(TokenKind::RightBracket) {
                dimensions.push(None);
                continue;
            }
            let start = self.token.start;
            let size = self.integer("an array size")?;
            if size < 0 {
                let finding = Diagnostic::error(
                    "P021",
                    self.span_from(start),
                    format!("{size} is out of range for an array size"),
                );
                self.report(finding);
            }
            dimensions.push(Some(size.max(0) as u64));
            self.expect(TokenKind::RightBracket, "`]`")?;
        }
        Ok(dimensions)
    }

    fn initializer(&mut self) -> Parsed<Initializer<'src>> {
        match self.token.kind {
            TokenKind::LeftBrace => {
                self.open_braces += 1;
                let list = self.nested(Self::initializer_list)?;
                self.open_braces -= 1;
                Ok(list)
            }
            TokenKind::Ident if self.text(self.token) != "WARP_SZ" => {
                let mut value = self.symbol_value()?;
                value.offset = self.offset()?;
                Ok(Initializer::Symbol(value))
            }
            _ => {
                let value = self.constant()?;
                if self.at(TokenKind::LeftParen) { self.masked(value) } else { Ok(Initializer::Value(value)) }
            }
        }
    }

    /// `0xFF(symbol)`; the mask has been taken.
    fn masked(&mut self, mask: Immediate) -> Parsed<Initializer<'src>> {
        let Some(mask) = mask.bits() else { return Err(self.expected("`,` or `;`")) };
        self.advance();
        let mut value = self.symbol_value()?;
        value.mask = Some(mask);
        value.offset = self.offset()?;
        self.expect(TokenKind::RightParen, "`)`")?;
        Ok(Initializer::Symbol(value))
    }

    /// `name` or `generic(name)`.
    fn symbol_value(&mut self) -> Parsed<SymbolValue<'src>> {
        let name = self.name("a symbol")?;
        let generic = name.text == "generic" && self.at(TokenKind::LeftParen);
        if !generic {
            return Ok(SymbolValue { name: name.text, offset: 0, generic, mask: None });
        }
        self.advance();
        let name = self.name("a symbol")?;
        self.expect(TokenKind::RightParen, "`)`")?;
        Ok(SymbolValue { name: name.text, offset: 0, generic, mask: None })
    }

    fn initializer_list(&mut self) -> Parsed<Initializer<'src>> {
        self.advance();
        if self.at(TokenKind::Ident) && self.peek().kind == TokenKind::Assign {
            return self.fields();
        }
        let mut values = Vec::new();
        while !self.eat(TokenKind::RightBrace) {
            values.push(self.initializer()?);
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::RightBrace, "`,` or `}`")?;
                break;
            }
        }
        Ok(Initializer::List(values))
    }

    /// `addr_mode_0 = wrap, ... }`
    fn fields(&mut self) -> Parsed<Initializer<'src>> {
        let mut fields = Vec::new();
        loop {
            let name = self.name("a field")?.text;
            self.expect(TokenKind::Assign, "`=`")?;
            let value = if self.at(TokenKind::Ident) {
                FieldValue::Name(self.take())
            } else {
                FieldValue::Number(self.constant()?)
            };
            fields.push((name, value));
            if !self.eat(TokenKind::Comma) {
                self.expect(TokenKind::RightBrace, "`,` or `}`")?;
                return Ok(Initializer::Fields(fields));
            }
        }
    }
}

fn space(text: &str) -> Option<Space> {
    Some(match text {
        ".reg" => Space::Reg,
        ".sreg" => Space::Sreg,
        ".const" => Space::Const,
        ".global" => Space::Global,
        ".local" => Space::Local,
        ".param" => Space::Param,
        ".shared" => Space::Shared,
        ".tex" => Space::Tex,
        _ => return None,
    })
}
