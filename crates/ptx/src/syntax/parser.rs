//! Tokens to syntax tree, by recursive descent with one token of lookahead.
//!
//! A statement that does not parse is reported and skipped up to its semicolon or closing brace, so that one run finds
//! all mistakes of a file. Nesting is bounded; no input makes the parser panic.

mod check;
mod declaration;
mod directive;
mod expression;
mod instruction;
mod operand;
mod section;
mod statement;

use warplens_base::{Diagnostic, Span};

use super::ast::{Item, Linkage, Module, Name, Version};
use super::lexer::{Lexer, Token, TokenKind};
use warplens_base::nearest;

/// Braces, parentheses and operators may nest this deep.
const MAX_DEPTH: u32 = 100;

/// Findings beyond this number are counted, not kept.
const MAX_DIAGNOSTICS: usize = 200;

/// Newest version of the language that the opcode table describes.
pub const NEWEST_VERSION: (u16, u16) = (9, 5);

/// Parses a module. The tree holds everything that could be understood; it is complete when no diagnostic is an error.
pub fn parse(source: &str) -> (Module<'_>, Vec<Diagnostic>) {
    if !Lexer::fits(source) {
        let finding = Diagnostic::error("P001", Span::default(), "the source text is larger than 4 GiB");
        return (Module::default(), vec![finding]);
    }
    let mut parser = Parser::new(source);
    let module = parser.module();
    (module, parser.finish())
}

/// A statement could not be understood and has been reported.
#[derive(Debug)]
struct Failed;

type Parsed<T> = Result<T, Failed>;

/// Where a broken statement stands.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Module,
    Body,
}

struct Parser<'src> {
    source: &'src str,
    lexer: Lexer<'src>,
    /// The next token.
    token: Token,
    /// End of the token before it.
    previous_end: u32,
    depth: u32,
    /// Braces of vectors and initial values that are open.
    open_braces: u32,
    /// `.version` of the module, once known.
    version: Option<(u16, u16)>,
    diagnostics: Vec<Diagnostic>,
    n_dropped: usize,
    /// Where scopes were found open that had to be closed before: the outer ones are left without further findings.
    unwinding_at: Option<u32>,
    /// Elements of the vector or list under construction; nested ones sit above their parents.
    scratch: Vec<super::ast::Operand<'src>>,
}

impl<'src> Parser<'src> {
    fn new(source: &'src str) -> Self {
        let mut lexer = Lexer::new(source);
        let token = lexer.next_token();
        Self {
            source,
            lexer,
            token,
            previous_end: 0,
            depth: 0,
            open_braces: 0,
            version: None,
            diagnostics: Vec::new(),
            n_dropped: 0,
            unwinding_at: None,
            scratch: Vec::new(),
        }
    }

    /// Findings of lexer and parser in the order of the text.
    fn finish(mut self) -> Vec<Diagnostic> {
        let from_lexer = std::mem::take(&mut self.lexer.diagnostics);
        self.n_dropped += from_lexer.len().saturating_sub(MAX_DIAGNOSTICS);
        self.diagnostics.extend(from_lexer.into_iter().take(MAX_DIAGNOSTICS));
        self.diagnostics.sort_by_key(|finding| finding.primary.span);
        if self.n_dropped > 0 {
            let message = format!("{} more findings are left out", self.n_dropped);
            self.diagnostics.push(Diagnostic::warning("P002", self.here(), message));
        }
        self.diagnostics
    }

    // Tokens.

    fn text(&self, token: Token) -> &'src str {
        self.source.get(token.span().range()).unwrap_or_default()
    }

    fn advance(&mut self) -> Token {
        let token = self.token;
        self.previous_end = token.end;
        self.token = self.lexer.next_token();
        token
    }

    fn at(&self, kind: TokenKind) -> bool {
        self.token.kind == kind
    }

    /// Takes the next token and returns its text.
    fn take(&mut self) -> &'src str {
        let token = self.advance();
        self.text(token)
    }

    /// Takes the next token when it is of this kind.
    fn eat(&mut self, kind: TokenKind) -> bool {
        let found = self.at(kind);
        if found {
            self.advance();
        }
        found
    }

    fn expect(&mut self, kind: TokenKind, what: &str) -> Parsed<Token> {
        if self.at(kind) { Ok(self.advance()) } else { Err(self.expected(what)) }
    }

    fn here(&self) -> Span {
        self.token.span()
    }

    fn span_from(&self, start: u32) -> Span {
        Span::new(start, self.previous_end.max(start))
    }

    fn name(&mut self, what: &str) -> Parsed<Name<'src>> {
        let token = self.expect(TokenKind::Ident, what)?;
        Ok(Name { text: self.text(token), span: token.span() })
    }

    // Findings.

    fn report(&mut self, finding: Diagnostic) {
        if self.diagnostics.len() < MAX_DIAGNOSTICS {
            self.diagnostics.push(finding);
        } else {
            self.n_dropped += 1;
        }
    }

    /// Reports that the next token is not `what`.
    fn expected(&mut self, what: &str) -> Failed {
        let found = match self.token.kind {
            TokenKind::End => "the end of the file".to_owned(),
            // The lexer has said what is wrong with it.
            TokenKind::Unknown => return Failed,
            _ => format!("`{}`", shortened(self.text(self.token))),
        };
        self.report(
            Diagnostic::error("P010", self.here(), format!("expected {what}, found {found}"))
                .with_label(format!("expected {what}")),
        );
        Failed
    }

    /// Runs `parse` one level deeper, or fails where the text nests too deep.
    fn nested<T>(&mut self, parse: impl FnOnce(&mut Self) -> Parsed<T>) -> Parsed<T> {
        if self.depth >= MAX_DEPTH {
            let message = format!("nested deeper than {MAX_DEPTH} levels");
            self.report(
                Diagnostic::error("P011", self.here(), message)
                    .with_help("flatten the scopes or split the expression here"),
            );
            return Err(Failed);
        }
        self.depth += 1;
        let result = parse(self);
        self.depth -= 1;
        result
    }

    /// The last character before the next token's blank.
    fn last_char(&self) -> Span {
        let before = self.source.get(..self.previous_end as usize).unwrap_or_default();
        let len = before.chars().next_back().map_or(0, char::len_utf8) as u32;
        Span::new(self.previous_end - len.min(self.previous_end), self.previous_end)
    }

    /// Takes the semicolon of a statement. One that is missing at the end of a line is reported and assumed.
    fn semicolon(&mut self, after: &str) -> Parsed<()> {
        if self.eat(TokenKind::Semicolon) {
            return Ok(());
        }
        if self.starts_line() || matches!(self.token.kind, TokenKind::RightBrace | TokenKind::End) {
            let place = self.last_char();
            self.report(
                Diagnostic::error("P012", place, format!("missing `;` after {after}"))
                    .with_help("end the statement with `;`"),
            );
            return Ok(());
        }
        Err(self.expected("`,` or `;`"))
    }

    /// Skips what is left of a broken statement: past its semicolon, or up to a brace that is not its own. What starts
    /// with a foreign character ends with its line: that may be a comment of another language or a string without its
    /// end.
    fn recover(&mut self, place: Place) {
        let foreign = self.at(TokenKind::Unknown);
        let mut own_braces = std::mem::take(&mut self.open_braces);
        loop {
            match self.token.kind {
                TokenKind::Semicolon => {
                    self.advance();
                    return;
                }
                TokenKind::End => return,
                TokenKind::RightBrace if own_braces == 0 => return,
                TokenKind::RightBrace => {
                    own_braces -= 1;
                    self.advance();
                }
                TokenKind::LeftBrace if place == Place::Module || self.starts_line() => return,
                TokenKind::LeftBrace => self.skip_block(),
                _ => {
                    self.advance();
                    if foreign && self.starts_line() {
                        return;
                    }
                }
            }
        }
    }

    /// True when a line ends between the last token and the next.
    fn starts_line(&self) -> bool {
        let between = self.source.as_bytes().get(self.previous_end as usize..self.token.start as usize);
        between.is_some_and(|bytes| bytes.contains(&b'\n'))
    }

    /// Skips a block with everything in it; the next token is its opening brace.
    fn skip_block(&mut self) {
        let mut open = 0u32;
        loop {
            match self.token.kind {
                TokenKind::LeftBrace => open += 1,
                TokenKind::RightBrace => open = open.saturating_sub(1),
                TokenKind::End => return,
                _ => {}
            }
            self.advance();
            if open == 0 {
                return;
            }
        }
    }

    /// Skips what cannot start an item, so that a body without its head is reported once.
    fn skip_to_item(&mut self) {
        while !self.at(TokenKind::End) && !self.starts_item() {
            self.advance();
        }
    }

    /// True at a directive that starts an item and nothing else.
    fn starts_item(&self) -> bool {
        const STARTS: &[&str] =
            &[".entry", ".func", ".visible", ".extern", ".weak", ".common", ".file", ".section", ".alias", ".global"];
        self.at(TokenKind::Dotted) && STARTS.contains(&self.text(self.token))
    }

    // Modules.

    fn module(&mut self) -> Module<'src> {
        let mut module = Module::default();
        let mut seen_brace = false;
        while !self.at(TokenKind::End) {
            if self.at(TokenKind::RightBrace) {
                if !seen_brace {
                    self.report(
                        Diagnostic::error("P013", self.here(), "closing brace without an opening one")
                            .with_help("remove it, or add the `{` that it closes"),
                    );
                }
                seen_brace = true;
                self.advance();
                continue;
            }
            self.open_braces = 0;
            let before = self.token.start;
            if self.item(&mut module).is_err() {
                self.recover(Place::Module);
                if self.at(TokenKind::LeftBrace) {
                    self.skip_block();
                }
            }
            if self.token.start == before && !matches!(self.token.kind, TokenKind::End | TokenKind::RightBrace) {
                self.advance();
            }
        }
        self.check_header(&module);
        module
    }

    fn check_header(&mut self, module: &Module<'src>) {
        let top = Span::new(0, 0);
        if self.diagnostics.iter().any(|finding| finding.code == "P016") {
            return;
        }
        if module.version.is_none() {
            self.report(
                Diagnostic::error("P014", top, "the module has no `.version`")
                    .with_help("start it with `.version 8.0`, `.target sm_80` and `.address_size 64`"),
            );
        } else if module.targets.is_empty() {
            self.report(
                Diagnostic::error("P015", top, "the module has no `.target`")
                    .with_help("add `.target sm_80` below `.version`"),
            );
        }
    }

    fn item(&mut self, module: &mut Module<'src>) -> Parsed<()> {
        let start = self.token;
        match start.kind {
            TokenKind::Semicolon => {
                self.advance();
                return Ok(());
            }
            TokenKind::Dwarf => {
                let token = self.advance();
                module.items.push(Item::Dwarf(self.dwarf(token)));
                return Ok(());
            }
            TokenKind::Dotted => {}
            _ => {
                self.expected("a directive such as `.entry`, `.func` or `.global`");
                self.skip_to_item();
                return Ok(());
            }
        }
        let item = match self.text(start) {
            ".version" => return self.version(module),
            ".target" => return self.target(module),
            ".address_size" => return self.address_size(module),
            // Old compilers leave the place of the next function here; it says nothing about an instruction.
            ".loc" => return self.loc().map(drop),
            ".file" => Item::File(self.file()?),
            ".section" => Item::Section(self.section()?),
            ".pragma" => Item::Pragma(self.pragma()?),
            ".alias" => Item::Alias(self.alias()?),
            _ => self.linked_item(start.start)?,
        };
        module.items.push(item);
        Ok(())
    }

    /// A function or variable, after its `.visible`, `.extern`, ...
    fn linked_item(&mut self, start: u32) -> Parsed<Item<'src>> {
        let linkage = self.linkage();
        match self.text(self.token) {
            ".entry" | ".func" => Ok(Item::Function(self.function(linkage, start)?)),
            _ => Ok(Item::Variable(self.variable(linkage, start)?)),
        }
    }

    fn linkage(&mut self) -> Linkage {
        let mut linkage = Linkage::Internal;
        while self.at(TokenKind::Dotted) {
            linkage = match self.text(self.token) {
                ".visible" => Linkage::Visible,
                ".extern" => Linkage::Extern,
                ".weak" => Linkage::Weak,
                ".common" => Linkage::Common,
                _ => break,
            };
            self.advance();
        }
        linkage
    }

    fn version(&mut self, module: &mut Module<'src>) -> Parsed<()> {
        self.advance();
        let token = self.expect(TokenKind::Number, "a version such as `8.0`")?;
        let number = |text: &str| text.parse::<u16>().ok();
        let parts = self.text(token).split_once('.').and_then(|(a, b)| Some((number(a)?, number(b)?)));
        let Some((major, minor)) = parts else {
            self.report(
                Diagnostic::error("P016", token.span(), "a version is two numbers with a point between them")
                    .with_help("write for example `.version 8.0`"),
            );
            return Ok(());
        };
        self.version = Some((major, minor));
        module.version = Some(Version { major, minor, span: token.span() });
        if (major, minor) > NEWEST_VERSION {
            let (newest, point) = NEWEST_VERSION;
            let message = format!("PTX {major}.{minor} is newer than {newest}.{point}, the newest that is known here");
            self.report(
                Diagnostic::warning("P017", token.span(), message)
                    .with_help("instructions that are not known are kept and reported as warnings"),
            );
        }
        Ok(())
    }

    fn target(&mut self, module: &mut Module<'src>) -> Parsed<()> {
        self.advance();
        loop {
            let name = self.name("a target such as `sm_80`")?;
            module.targets.push(name);
            if !self.eat(TokenKind::Comma) {
                return Ok(());
            }
        }
    }

    fn address_size(&mut self, module: &mut Module<'src>) -> Parsed<()> {
        self.advance();
        let start = self.token.start;
        let size = self.count("`32` or `64`")?;
        if size != 32 && size != 64 {
            let finding =
                Diagnostic::error("P018", self.span_from(start), format!("an address has 32 or 64 bits, not {size}"));
            self.report(finding.with_help("write `.address_size 64`"));
        }
        module.address_size = Some(size);
        Ok(())
    }

    /// Reports a directive that has no place here.
    fn unknown_directive(&mut self, place: &str) -> Failed {
        let text = self.text(self.token);
        let mut finding =
            Diagnostic::error("P019", self.here(), format!("`{}` is not a directive of {place}", shortened(text)));
        if let Some(name) = nearest(text, directive::DIRECTIVES.iter().copied()).filter(|name| *name != text) {
            finding = finding.with_help(format!("did you mean `{name}`?"));
        }
        self.report(finding);
        Failed
    }

    fn is_future(&self) -> bool {
        self.version.is_some_and(|version| version > NEWEST_VERSION)
    }
}

/// A token for a message: at most 40 characters.
fn shortened(text: &str) -> String {
    match text.char_indices().nth(40) {
        Some((end, _)) => format!("{}...", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}
