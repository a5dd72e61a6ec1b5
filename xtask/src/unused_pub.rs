//! An item of a crate without a public API is `pub` only if another crate uses it. The compiler does
//! not check this: it takes every `pub` item of a library for used.
//!
//! Names are compared, not items: an item counts as used if its name occurs anywhere in the code of
//! another crate, or of its own integration tests. A type also counts as used if the signature of a
//! `pub` item has it.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
};

use syn::{
    Fields, FnArg, Ident, ImplItem, Item, ItemImpl, Signature, TraitItem, Type, Visibility,
    visit::{self, Visit},
};

use crate::{
    sources::{self, attributes, is_of_tests},
    workspace,
};

type Names = BTreeSet<String>;

/// The crate with a public API.
const PUBLIC: &str = "hyper-delay";

/// Collects the names in a part of the code.
#[derive(Default)]
struct Collector(Names);

impl<'ast> Visit<'ast> for Collector {
    fn visit_ident(&mut self, ident: &'ast Ident) {
        self.0.insert(ident.to_string());
    }
}

/// What a crate offers to other crates.
#[derive(Default)]
struct Offer {
    /// Types whose methods users of `hyper-delay` may call.
    public: Names,
    /// The `pub` items, and where they are declared.
    items: BTreeMap<String, String>,
    /// The names in the signatures of `pub` items.
    in_signatures: Collector,
    file: String,
}

impl Offer {
    fn of(source: &Path, public: Names) -> Self {
        let mut offer = Self {
            public,
            ..Self::default()
        };
        for module in sources::modules(source) {
            offer.file = module.file.display().to_string();
            offer.visit_file(&module.contents);
        }
        offer
    }

    fn add(&mut self, name: &Ident) {
        self.items.insert(name.to_string(), self.file.clone());
    }

    fn function(&mut self, visibility: &Visibility, signature: &Signature) {
        if is_pub(visibility) {
            self.add(&signature.ident);
            self.types(signature);
        }
    }

    /// Collects the types of a signature.
    fn types(&mut self, signature: &Signature) {
        self.in_signatures.visit_generics(&signature.generics);
        self.in_signatures.visit_return_type(&signature.output);
        for input in &signature.inputs {
            if let FnArg::Typed(input) = input {
                self.in_signatures.visit_type(&input.ty);
            }
        }
    }

    fn fields(&mut self, fields: &Fields) {
        for field in fields.iter().filter(|field| is_pub(&field.vis)) {
            self.in_signatures.visit_type(&field.ty);
        }
    }

    /// Collects the types of an implementation of a trait, without that which it is for.
    fn trait_impl(&mut self, item: &ItemImpl) {
        self.in_signatures.visit_generics(&item.generics);
        if let Some((_, path, _)) = &item.trait_ {
            self.in_signatures.visit_path(path);
        }
        for item in &item.items {
            if let ImplItem::Type(item) = item {
                self.in_signatures.visit_type(&item.ty);
            }
        }
    }

    fn is_public(&self, implementer: &Type) -> bool {
        matches!(implementer, Type::Path(it)
            if it.path.get_ident().is_some_and(|it| self.public.contains(&it.to_string())))
    }

    /// Returns the items that no crate of `used` names.
    fn unused(&self, used: &Names) -> impl Iterator<Item = String> {
        let is_unused = |name: &str| !used.contains(name) && !self.in_signatures.0.contains(name);
        let unused = self.items.iter().filter(move |(name, _)| is_unused(name));
        unused.map(|(name, file)| format!("{file}: {name}"))
    }
}

fn is_pub(visibility: &Visibility) -> bool {
    matches!(visibility, Visibility::Public(_))
}

impl<'ast> Visit<'ast> for Offer {
    fn visit_item(&mut self, item: &'ast Item) {
        if is_of_tests(attributes(item)) {
            return;
        }
        match item {
            Item::Const(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                self.in_signatures.visit_type(&item.ty);
            }
            Item::Enum(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                for variant in &item.variants {
                    self.in_signatures.visit_fields(&variant.fields);
                }
            }
            Item::Fn(item) => self.function(&item.vis, &item.sig),
            Item::Impl(item) if item.trait_.is_some() => {
                self.trait_impl(item);
            }
            Item::Impl(item) if self.is_public(&item.self_ty) => {
                for item in &item.items {
                    if let ImplItem::Fn(function) = item {
                        self.types(&function.sig);
                    }
                }
                return;
            }
            Item::Struct(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                self.in_signatures.visit_generics(&item.generics);
                self.fields(&item.fields);
            }
            Item::Trait(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                for item in &item.items {
                    if let TraitItem::Fn(function) = item {
                        self.types(&function.sig);
                    }
                }
            }
            Item::Type(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                self.in_signatures.visit_type(&item.ty);
            }
            _ => {}
        }
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast ImplItem) {
        match item {
            ImplItem::Fn(item) if !is_of_tests(&item.attrs) => self.function(&item.vis, &item.sig),
            ImplItem::Const(item) if is_pub(&item.vis) => {
                self.add(&item.ident);
                self.in_signatures.visit_type(&item.ty);
            }
            _ => {}
        }
    }
}

/// Returns the names in all files of a folder, without comments.
fn names_in(folder: &Path) -> Names {
    let mut names = Names::new();
    for entry in workspace::entries(folder).unwrap_or_default() {
        if entry.is_dir() && entry.file_name().is_some_and(|name| name != "target") {
            names.append(&mut names_in(&entry));
        } else if entry.extension().is_some_and(|it| it == "rs") {
            let code = fs::read_to_string(&entry).expect("a source can be read");
            names.append(&mut words(&code));
        }
    }
    names
}

/// Returns the words of some code, without those of comments.
fn words(code: &str) -> Names {
    let lines = code.lines().map(str::trim_start);
    let code = lines.filter(|line| !line.starts_with("//"));
    let words = code.flat_map(|line| line.split(|c: char| !c.is_alphanumeric() && c != '_'));
    words.map(str::to_owned).collect()
}

#[test]
fn items_of_inner_crates_are_public_only_for_another_crate() {
    let mut used = BTreeMap::new();
    for (name, folder) in sources::server_crates() {
        let names = names_in(&folder);
        used.insert(name, (folder, names));
    }
    let public = words(include_str!("../../crates/hyper-delay/src/lib.rs"));
    let (mut crates, mut unused) = (0, Vec::new());
    for (name, (folder, _)) in used.iter().filter(|(name, _)| *name != PUBLIC) {
        crates += 1;
        let others = used.iter().filter(|(other, _)| *other != name);
        let mut names: Names = others.flat_map(|(_, (_, names))| names.clone()).collect();
        for own in ["tests", "benches", "examples"] {
            names.append(&mut names_in(&folder.join(own)));
        }
        let offer = Offer::of(&folder.join("src"), public.clone());
        unused.extend(offer.unused(&names));
    }
    assert!(
        unused.is_empty(),
        "make these private:\n{}",
        unused.join("\n")
    );
    assert!(crates >= 8, "only {crates} crates were read");
}

#[test]
fn an_unused_item_is_found() {
    let source = r"
        pub fn used() -> Result<Returned, Failed> { hidden() }
        pub fn unused() {}
        pub(crate) fn hidden() {}
        pub struct Returned { pub part: Part, own: Own }
        pub struct Part;
        pub struct Own;
        impl Drop for Own { fn drop(&mut self) {} }
        pub enum Failed { With(Cause) }
        pub struct Cause;
        impl Returned { pub fn run(&self) {} pub const LIMIT: u8 = 1; fn own() {} }
        impl Iterator for Returned { type Item = Step; fn next(&mut self) -> Option<Step> { None } }
        pub struct Step;
        #[cfg(test)]
        pub fn of_tests() {}
        impl Public { pub fn for_users(&self) {} }
    ";
    let mut offer = Offer {
        public: ["Public".to_owned()].into(),
        ..Offer::default()
    };
    offer.visit_file(&syn::parse_file(source).expect("it is Rust"));
    let used = ["used", "run"].map(str::to_owned).into();
    let unused: Vec<String> = offer.unused(&used).collect();
    assert_eq!(unused, [": LIMIT", ": Own", ": unused"]);
}
