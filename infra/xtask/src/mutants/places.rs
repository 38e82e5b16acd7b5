//! The places of a file where a mutant can have a switch, and those where it cannot.

use std::{collections::BTreeMap, ops::Range};
use syn::{Expr, spanned::Spanned as _, visit::Visit};

/// Places of a file, in bytes.
#[derive(Default)]
pub(super) struct Places {
    /// By the start of an operator: the expression, and the operator.
    pub(super) operators: BTreeMap<usize, (Range<usize>, Range<usize>)>,
    /// By their start.
    pub(super) arms: BTreeMap<usize, Arm>,
    /// By the start of a guard: the guard, its `match`.
    pub(super) guards: BTreeMap<usize, (Range<usize>, Range<usize>)>,
    /// Values of constants and statics.
    pub(super) values: Vec<Range<usize>>,
    pub(super) constant: Vec<ConstantFunction>,
    /// The starts of the bodies whose result is an `impl Trait`: a switch there would return another type.
    opaque: Vec<usize>,
}

pub(super) struct ConstantFunction {
    pub(super) name: String,
    /// The word `const`.
    pub(super) keyword: Range<usize>,
    pub(super) body: Range<usize>,
}

pub(super) struct Arm {
    pub(super) pattern_end: usize,
    pub(super) guard: Option<Range<usize>>,
    /// Its `match`.
    pub(super) around: Range<usize>,
}

impl Places {
    pub(super) fn read(text: &str) -> syn::Result<Self> {
        let mut places = Self::default();
        places.visit_file(&syn::parse_file(text)?);
        Ok(places)
    }

    /// Whether no switch can be at a place, because the compiler computes it or its type is fixed.
    pub(super) fn is_fixed(&self, at: usize) -> bool {
        let bodies = self.constant.iter().map(|function| &function.body);
        self.values.iter().chain(bodies).any(|fixed| fixed.contains(&at)) || self.opaque.contains(&at)
    }

    fn function(&mut self, signature: &syn::Signature, block: &syn::Block) {
        let opaque = |output: &syn::ReturnType| {
            struct Finds(bool);
            impl Visit<'_> for Finds {
                fn visit_type_impl_trait(&mut self, _: &syn::TypeImplTrait) {
                    self.0 = true;
                }
            }
            let mut finds = Finds(false);
            finds.visit_return_type(output);
            finds.0
        };
        let body = block.span().byte_range();
        if let Some(keyword) = &signature.constness {
            let (name, keyword) = (signature.ident.to_string(), keyword.span().byte_range());
            self.constant.push(ConstantFunction { name, keyword, body });
        } else if opaque(&signature.output) {
            self.opaque.push(block.stmts.first().map_or(body.start, |first| first.span().byte_range().start));
        }
    }
}

/// Whether a condition contains `let`, which is no expression with a value.
fn binds(expression: &Expr) -> bool {
    match expression {
        Expr::Let(_) => true,
        Expr::Binary(binary) => binds(&binary.left) || binds(&binary.right),
        _ => false,
    }
}

impl<'ast> Visit<'ast> for Places {
    fn visit_expr_binary(&mut self, binary: &'ast syn::ExprBinary) {
        if !binds(&binary.left) && !binds(&binary.right) {
            let operator = binary.op.span().byte_range();
            self.operators.insert(operator.start, (binary.span().byte_range(), operator));
        }
        syn::visit::visit_expr_binary(self, binary);
    }

    fn visit_expr_unary(&mut self, unary: &'ast syn::ExprUnary) {
        let operator = unary.op.span().byte_range();
        self.operators.insert(operator.start, (unary.span().byte_range(), operator));
        syn::visit::visit_expr_unary(self, unary);
    }

    fn visit_expr_match(&mut self, whole: &'ast syn::ExprMatch) {
        let around = whole.span().byte_range();
        for arm in &whole.arms {
            let (pattern, guard) = match &arm.pat {
                syn::Pat::Guard(guarded) => (&*guarded.pat, Some(guarded.guard.span().byte_range())),
                pattern => (pattern, None),
            };
            if let Some(guard) = &guard {
                self.guards.insert(guard.start, (guard.clone(), around.clone()));
            }
            let pattern_end = pattern.span().byte_range().end;
            let around = around.clone();
            self.arms.insert(arm.span().byte_range().start, Arm { pattern_end, guard, around });
        }
        syn::visit::visit_expr_match(self, whole);
    }

    fn visit_item_fn(&mut self, item: &'ast syn::ItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_item_fn(self, item);
    }

    fn visit_impl_item_fn(&mut self, item: &'ast syn::ImplItemFn) {
        self.function(&item.sig, &item.block);
        syn::visit::visit_impl_item_fn(self, item);
    }

    fn visit_item_const(&mut self, item: &'ast syn::ItemConst) {
        self.values.push(item.span().byte_range());
    }

    fn visit_impl_item_const(&mut self, item: &'ast syn::ImplItemConst) {
        self.values.push(item.span().byte_range());
    }

    fn visit_item_static(&mut self, item: &'ast syn::ItemStatic) {
        self.values.push(item.span().byte_range());
    }

    fn visit_expr_const(&mut self, expression: &'ast syn::ExprConst) {
        self.values.push(expression.span().byte_range());
    }
}
