//! The modules of a crate, as they are declared, without those of tests.

use std::{
    fs,
    path::{Path, PathBuf},
};

use syn::{
    Attribute, File, Item, ItemMod, Meta,
    visit::{self, Visit},
};

use crate::workspace;

/// A file of a crate.
pub(crate) struct Module {
    /// The names of the modules from the root of the crate on. Empty: the root.
    pub(crate) path: Vec<String>,
    pub(crate) file: PathBuf,
    pub(crate) contents: File,
}

/// Returns the crates of the server with their folders.
pub(crate) fn server_crates() -> Vec<(String, PathBuf)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates");
    let folders = workspace::folders(&crates).expect("there are crates");
    let named = folders.into_iter().map(|folder| {
        let name = folder.file_name().expect("it has a name");
        (name.to_string_lossy().into_owned(), folder)
    });
    named
        .filter(|(name, _)| workspace::is_of_server(name))
        .collect()
}

/// Returns the files of the library in the folder `source`.
pub(crate) fn modules(source: &Path) -> Vec<Module> {
    let mut modules = Vec::new();
    let mut open = vec![Vec::new()];
    while let Some(path) = open.pop() {
        let file = file_of(source, &path);
        let contents = parse(&file);
        let mut declared = Declared {
            inside: path.clone(),
            found: Vec::new(),
        };
        declared.visit_file(&contents);
        open.append(&mut declared.found);
        modules.push(Module {
            path,
            file,
            contents,
        });
    }
    modules
}

/// Whether an item exists in tests alone: `#[cfg(test)]` or `#[cfg(all(test, ..))]`.
pub(crate) fn is_of_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::List(list) if list.path.is_ident("cfg") => {
            let condition = list.tokens.to_string();
            condition == "test" || condition.starts_with("all (test")
        }
        _ => false,
    })
}

pub(crate) fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Finds the modules that a file declares, and that have files of their own.
struct Declared {
    /// The modules around what is read.
    inside: Vec<String>,
    found: Vec<Vec<String>>,
}

impl<'ast> Visit<'ast> for Declared {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.inside.push(item.ident.to_string());
        match item.content {
            Some(_) => visit::visit_item_mod(self, item),
            None => self.found.push(self.inside.clone()),
        }
        self.inside.pop();
    }
}

fn file_of(folder: &Path, path: &[String]) -> PathBuf {
    if path.is_empty() {
        return folder.join("lib.rs");
    }
    let path = path
        .iter()
        .fold(folder.to_owned(), |path, name| path.join(name));
    let flat = path.with_extension("rs");
    if flat.exists() {
        flat
    } else {
        path.join("mod.rs")
    }
}

fn parse(file: &Path) -> File {
    let text = fs::read_to_string(file).unwrap_or_else(|error| panic!("{file:?}: {error}"));
    syn::parse_file(&text).unwrap_or_else(|error| panic!("{file:?}: {error}"))
}
