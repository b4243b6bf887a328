//! Names by which other modules find what a module defines, and it what they define.

use warplens_ir::link::{Export, ExternalFunction, Linkage, Symbol};
use warplens_ir::{FunctionId, VariableId, Width};

use super::call::{shape, system_call};
use super::module::{Global, ModuleLowering};
use crate::syntax::ast;

impl<'a, 'src> ModuleLowering<'a, 'src> {
    /// Gives the functions that other modules have to define the ids behind the `n_functions` of this one.
    pub(super) fn collect_external_functions(&mut self, n_functions: usize) {
        let ast = self.ast;
        for item in &ast.items {
            let ast::Item::Function(function) = item else { continue };
            let name = function.name.text;
            if !matches!(self.names.get(name), Some(Global::Function(_, None))) || system_call(name).is_some() {
                continue;
            }
            let externals = &mut self.module.interface.functions;
            let id = FunctionId((n_functions + externals.len()) as u32);
            externals.push(ExternalFunction {
                name: name.to_owned(),
                arguments: widths(&function.parameters),
                results: widths(&function.returns),
            });
            self.names.insert(name, Global::Function(function, Some(id)));
        }
    }

    /// Notes what the module offers, and which variables it only declares.
    pub(super) fn collect_interface(&mut self) {
        let ast = self.ast;
        for item in &ast.items {
            match item {
                ast::Item::Function(function) if function.body.is_some() => {
                    if let Some(&Global::Function(_, Some(id))) = self.names.get(function.name.text) {
                        self.export(function.linkage, function.name.text, Symbol::Function(id));
                    }
                }
                ast::Item::Variable(variable) => {
                    for declarator in &variable.declarators {
                        if let Some(&Global::Variable(id, true)) = self.names.get(declarator.name.text) {
                            self.export(variable.linkage, declarator.name.text, Symbol::Variable(id));
                        }
                    }
                }
                _ => {}
            }
        }
        let declared = self.names.values().filter_map(|global| match global {
            Global::Variable(id, false) => Some(*id),
            Global::Variable(_, true) | Global::Function(..) | Global::PerFunction(..) => None,
        });
        let mut declared: Vec<VariableId> = declared.collect();
        declared.sort();
        self.module.interface.variables = declared;
    }

    fn export(&mut self, linkage: ast::Linkage, name: &str, symbol: Symbol) {
        let linkage = match linkage {
            ast::Linkage::Visible => Linkage::Strong,
            ast::Linkage::Weak => Linkage::Weak,
            ast::Linkage::Common => Linkage::Common,
            ast::Linkage::Internal | ast::Linkage::Extern => return,
        };
        self.module.interface.exports.push(Export { name: name.to_owned(), symbol, linkage });
    }
}

/// Widths of the registers of parameters, in order.
fn widths(parameters: &[ast::Parameter<'_>]) -> Vec<Width> {
    parameters.iter().filter_map(shape).flat_map(|(_, _, widths)| widths).collect()
}
