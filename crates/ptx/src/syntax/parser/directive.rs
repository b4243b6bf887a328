//! Directives other than declarations: performance, debugging, pragmas, aliases.

use warplens_base::Diagnostic;

use super::{Failed, Parsed, Parser};
use crate::syntax::ast::{Alias, File, FunctionDirective, InlinedAt, Loc, Name, Pragma};
use crate::syntax::lexer::{Token, TokenKind};

/// Every directive of the language, for hints.
pub(super) const DIRECTIVES: &[&str] = &[
    ".version",
    ".target",
    ".address_size",
    ".entry",
    ".func",
    ".alias",
    ".pragma",
    ".section",
    ".loc",
    ".file",
    ".reg",
    ".sreg",
    ".param",
    ".global",
    ".const",
    ".shared",
    ".local",
    ".tex",
    ".extern",
    ".visible",
    ".weak",
    ".common",
    ".align",
    ".attribute",
    ".ptr",
    ".noreturn",
    ".maxnreg",
    ".maxntid",
    ".reqntid",
    ".minnctapersm",
    ".maxnctapersm",
    ".reqnctapercluster",
    ".maxclusterrank",
    ".explicitcluster",
    ".blocksareclusters",
    ".branchtargets",
    ".calltargets",
    ".callprototype",
    ".abi_preserve",
    ".abi_preserve_control",
    ".texref",
    ".samplerref",
    ".surfref",
];

impl<'src> Parser<'src> {
    /// Directives between the parameters of a function and its body; one that is broken is reported and skipped.
    pub(super) fn function_directives(&mut self) -> Vec<FunctionDirective<'src>> {
        let mut directives = Vec::new();
        while self.at(TokenKind::Dotted) && !self.starts_item() {
            match self.function_directive() {
                Ok(directive) => directives.push(directive),
                Err(Failed) => {
                    while !matches!(
                        self.token.kind,
                        TokenKind::Dotted
                            | TokenKind::LeftBrace
                            | TokenKind::RightBrace
                            | TokenKind::Semicolon
                            | TokenKind::End
                    ) {
                        self.advance();
                    }
                }
            }
        }
        directives
    }

    fn function_directive(&mut self) -> Parsed<FunctionDirective<'src>> {
        let token = self.token;
        let one: fn(u32) -> FunctionDirective<'src> = match self.text(token) {
            ".pragma" => return Ok(FunctionDirective::Pragma(self.pragma()?.strings)),
            ".noreturn" => return Ok(self.flag(FunctionDirective::NoReturn)),
            ".explicitcluster" => return Ok(self.flag(FunctionDirective::ExplicitCluster(token.span()))),
            ".blocksareclusters" => return Ok(self.flag(FunctionDirective::BlocksAreClusters)),
            ".maxntid" => return self.extent().map(FunctionDirective::MaxNTid),
            ".reqntid" => return self.extent().map(FunctionDirective::ReqNTid),
            ".reqnctapercluster" => {
                let extent = self.extent()?;
                return Ok(FunctionDirective::ReqNCtaPerCluster(extent, self.span_from(token.start)));
            }
            ".maxnreg" => FunctionDirective::MaxNReg,
            ".minnctapersm" => FunctionDirective::MinNCtaPerSm,
            ".maxnctapersm" => FunctionDirective::MaxNCtaPerSm,
            ".maxclusterrank" => FunctionDirective::MaxClusterRank,
            ".abi_preserve" => FunctionDirective::AbiPreserve,
            ".abi_preserve_control" => FunctionDirective::AbiPreserveControl,
            _ => {
                let failed = self.unknown_directive("a function");
                self.advance();
                return Err(failed);
            }
        };
        self.advance();
        self.count("a number").map(one)
    }

    fn flag(&mut self, directive: FunctionDirective<'src>) -> FunctionDirective<'src> {
        self.advance();
        directive
    }

    /// One to three numbers after a directive; what is not written is 1.
    fn extent(&mut self) -> Parsed<[u32; 3]> {
        self.advance();
        let mut extent = [1; 3];
        extent[0] = self.count("a number")?;
        for value in &mut extent[1..] {
            if !self.eat(TokenKind::Comma) {
                break;
            }
            *value = self.count("a number")?;
        }
        Ok(extent)
    }

    /// A string without its quotes.
    fn string(&mut self, what: &str) -> Parsed<&'src str> {
        let token = self.expect(TokenKind::String, what)?;
        let text = self.text(token);
        Ok(&text[1..text.len() - 1])
    }

    /// `.pragma "..", "..";`; the next token is the directive.
    pub(super) fn pragma(&mut self) -> Parsed<Pragma<'src>> {
        let start = self.advance().start;
        let mut strings = vec![self.string("a string")?];
        while self.eat(TokenKind::Comma) {
            strings.push(self.string("a string")?);
        }
        let span = self.span_from(start);
        self.semicolon("the pragma")?;
        Ok(Pragma { strings, span })
    }

    pub(super) fn alias(&mut self) -> Parsed<Alias<'src>> {
        self.advance();
        let name = self.name("the new name")?;
        self.expect(TokenKind::Comma, "`,`")?;
        let target = self.name("the name of a function")?;
        self.semicolon("the alias")?;
        Ok(Alias { name, target })
    }

    pub(super) fn file(&mut self) -> Parsed<File<'src>> {
        let start = self.advance().start;
        let index = self.plain_count("the number of the file")?;
        let path = self.string("the path of the file")?;
        let mut stamp = None;
        if self.eat(TokenKind::Comma) {
            let time = self.integer("the time stamp")? as u64;
            self.expect(TokenKind::Comma, "`,`")?;
            stamp = Some((time, self.integer("the size")? as u64));
        }
        let span = self.span_from(start);
        // Not part of the syntax, but some tools write it.
        self.eat(TokenKind::Semicolon);
        Ok(File { index, path, stamp, span })
    }

    pub(super) fn loc(&mut self) -> Parsed<Loc<'src>> {
        let start = self.advance().start;
        let file = self.plain_count("the number of a file")?;
        let line = self.plain_count("a line")?;
        let column = self.plain_count("a column")?;
        let mut inlined = InlinedAt { function_name: None, at: None };
        while self.eat(TokenKind::Comma) {
            let word = self.name("`function_name` or `inlined_at`")?;
            match word.text {
                "function_name" => {
                    let label = self.name("a label")?.text;
                    inlined.function_name = Some((label, self.offset()?));
                }
                "inlined_at" => {
                    let file = self.plain_count("the number of a file")?;
                    let line = self.plain_count("a line")?;
                    inlined.at = Some([file, line, self.plain_count("a column")?]);
                }
                _ => {
                    let message = "expected `function_name` or `inlined_at`";
                    self.report(Diagnostic::error("P010", word.span, message));
                    return Err(Failed);
                }
            }
        }
        let is_inlined = inlined.function_name.is_some() || inlined.at.is_some();
        let span = self.span_from(start);
        self.eat(TokenKind::Semicolon);
        Ok(Loc { file, line, column, inlined: is_inlined.then(|| Box::new(inlined)), span })
    }

    /// What follows `@@DWARF` on its line.
    pub(super) fn dwarf(&mut self, token: Token) -> Name<'src> {
        let text = self.text(token);
        let mark = text.strip_prefix("@@DWARF");
        if mark.is_none() {
            self.report(
                Diagnostic::error("P063", token.span(), "`@@` starts only `@@DWARF`")
                    .with_help("a guard has one `@`: `@%p1`"),
            );
        }
        Name { text: mark.unwrap_or_default().trim(), span: token.span() }
    }
}
