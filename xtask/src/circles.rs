//! The top-level modules of the server's crates use each other without circles, so that each can be
//! read, tested and moved with what it uses alone. Tests do not count.

use std::{
    collections::{BTreeMap, BTreeSet},
    path::Path,
};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Item, ItemMod, Macro, UseTree,
    visit::{self, Visit},
};

use crate::sources::{self, Module, attributes, is_of_tests};

/// Which top-level modules each one uses, and where.
type Uses = BTreeMap<String, BTreeMap<String, String>>;

/// The top-level modules of a crate, by their names and by those of the items that its root imports
/// from them.
#[derive(Default)]
struct Modules(BTreeMap<String, String>);

impl Modules {
    fn of(files: &[Module]) -> Self {
        let mut modules = Self::default();
        let (roots, others): (Vec<_>, Vec<_>) = files.iter().partition(|it| it.path.is_empty());
        for name in others.iter().filter_map(|it| it.path.first()) {
            modules.0.insert(name.clone(), name.clone());
        }
        for item in roots.iter().flat_map(|root| &root.contents.items) {
            if let Item::Use(item) = item
                && !is_of_tests(&item.attrs)
            {
                modules.import(&item.tree);
            }
        }
        modules
    }

    /// Adds the items of a `use` in the root: `module::Item`, also after `crate`, `self` or `super`.
    fn import(&mut self, tree: &UseTree) {
        let UseTree::Path(path) = tree else { return };
        let name = path.ident.to_string();
        match self.0.get(&name) {
            Some(module) => {
                let module = module.clone();
                self.add(&module, &path.tree);
            }
            None if ["crate", "self"].contains(&&*name) => self.import(&path.tree),
            None => {}
        }
    }

    fn add(&mut self, module: &str, tree: &UseTree) {
        let name = match tree {
            UseTree::Path(path) => return self.add(module, &path.tree),
            UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add(module, tree));
            }
            UseTree::Name(name) => &name.ident,
            UseTree::Rename(rename) => &rename.rename,
            UseTree::Glob(_) => return,
        };
        // A module and a function can share a name.
        let named = self.0.entry(name.to_string());
        named.or_insert_with(|| module.to_owned());
    }
}

/// Finds the top-level modules that the code of one module uses.
struct Finder<'a> {
    modules: &'a Modules,
    /// The module that is read.
    module: &'a str,
    /// How many modules are around what is read, its own one included.
    depth: usize,
    found: BTreeSet<String>,
}

impl Finder<'_> {
    fn uses(&mut self, name: &str) {
        if let Some(module) = self.modules.0.get(name)
            && module != self.module
        {
            self.found.insert(module.clone());
        }
    }

    /// Reads what follows `crate::` in a use.
    fn tree(&mut self, tree: &UseTree) {
        match tree {
            UseTree::Path(path) => self.uses(&path.ident.to_string()),
            UseTree::Name(name) => self.uses(&name.ident.to_string()),
            UseTree::Rename(rename) => self.uses(&rename.ident.to_string()),
            UseTree::Group(group) => group.items.iter().for_each(|tree| self.tree(tree)),
            UseTree::Glob(_) => {}
        }
    }

    /// Finds `crate::name` in the arguments of a macro.
    fn tokens(&mut self, tokens: TokenStream) {
        let tokens: Vec<TokenTree> = tokens.into_iter().collect();
        for (place, token) in tokens.iter().enumerate() {
            match token {
                TokenTree::Group(group) => self.tokens(group.stream()),
                TokenTree::Ident(first) if first == "crate" => {
                    if let Some(TokenTree::Ident(name)) = tokens.get(place + 3) {
                        self.uses(&name.to_string());
                    }
                }
                _ => {}
            }
        }
    }
}

impl<'ast> Visit<'ast> for Finder<'_> {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, item: &'ast ItemMod) {
        self.depth += 1;
        visit::visit_item_mod(self, item);
        self.depth -= 1;
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let mut tree = &item.tree;
        let mut left = self.depth;
        while let UseTree::Path(path) = tree {
            if path.ident == "crate" {
                return self.tree(&path.tree);
            }
            if path.ident != "super" {
                return;
            }
            left = left.saturating_sub(1);
            tree = &path.tree;
            let goes_on = matches!(tree, UseTree::Path(path) if path.ident == "super");
            if left == 0 && !goes_on {
                return self.tree(tree);
            }
        }
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        let segments: Vec<String> = path
            .segments
            .iter()
            .map(|it| it.ident.to_string())
            .collect();
        let supers = segments
            .iter()
            .take_while(|segment| *segment == "super")
            .count();
        let root = match &segments[..] {
            [first, ..] if first == "crate" => Some(1),
            _ if supers > 0 && supers == self.depth => Some(supers),
            _ => None,
        };
        if let Some(name) = root.and_then(|root| segments.get(root)) {
            self.uses(name);
        }
        visit::visit_path(self, path);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        if let syn::ImplItem::Fn(function) = item
            && is_of_tests(&function.attrs)
        {
            return;
        }
        visit::visit_impl_item(self, item);
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        self.tokens(item.tokens.clone());
        visit::visit_macro(self, item);
    }
}

/// Returns what the top-level modules of a crate use of each other. `source` is its folder `src`.
fn uses(source: &Path) -> Uses {
    let files = sources::modules(source);
    let top = |module: &Module| module.path.first().cloned();
    let modules = Modules::of(&files);
    let names = files.iter().filter_map(top);
    let mut uses: Uses = names.map(|it| (it, BTreeMap::new())).collect();
    for module in &files {
        let Some(name) = top(module) else { continue };
        let mut finder = Finder {
            modules: &modules,
            module: &name,
            depth: module.path.len(),
            found: BTreeSet::new(),
        };
        finder.visit_file(&module.contents);
        let file = module.file.display().to_string();
        let found = finder.found.into_iter().map(|used| (used, file.clone()));
        uses.entry(name).or_default().extend(found);
    }
    uses
}

/// Returns modules of which each uses the next one, and the last one the first.
fn circle(uses: &Uses) -> Option<Vec<&str>> {
    fn from<'a>(uses: &'a Uses, path: &mut Vec<&'a str>, done: &mut BTreeSet<&'a str>) -> bool {
        let last = *path.last().expect("it begins somewhere");
        for next in uses[last].keys() {
            if let Some(place) = path.iter().position(|module| module == next) {
                path.drain(..place);
                return true;
            }
            if !done.contains(&**next) {
                path.push(next);
                if from(uses, path, done) {
                    return true;
                }
            }
        }
        done.insert(last);
        path.pop();
        false
    }
    let mut done = BTreeSet::new();
    uses.keys().find_map(|module| {
        let mut path = vec![&**module];
        let is_open = !done.contains(&**module);
        (is_open && from(uses, &mut path, &mut done)).then_some(path)
    })
}

#[test]
fn no_top_level_modules_use_each_other_in_a_circle() {
    let (mut modules, mut circles) = (0, Vec::new());
    for (_, folder) in sources::server_crates() {
        let uses = uses(&folder.join("src"));
        modules += uses.len();
        if let Some(circle) = circle(&uses) {
            let next = circle.iter().cycle().skip(1);
            let steps = circle.iter().zip(next);
            let steps = steps
                .map(|(module, next)| format!("{module} uses {next} in {}", uses[*module][*next]));
            let steps: Vec<String> = steps.collect();
            circles.push(steps.join("\n"));
        }
    }
    assert!(circles.is_empty(), "{}", circles.join("\n\n"));
    assert!(modules > 40, "only {modules} modules were read");
}

#[test]
fn a_circle_is_found_and_tests_do_not_count() {
    let of = |edges: &[(&str, &str)]| {
        let mut uses = Uses::new();
        for (module, used) in edges {
            uses.entry((*used).to_owned()).or_default();
            let used = ((*used).to_owned(), String::new());
            uses.entry((*module).to_owned()).or_default().extend([used]);
        }
        uses
    };
    let straight = of(&[("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")]);
    assert_eq!(circle(&straight), None);
    let round = of(&[("a", "b"), ("b", "c"), ("c", "d"), ("d", "b"), ("a", "d")]);
    assert_eq!(circle(&round), Some(vec!["b", "c", "d"]));

    let source = r#"
        use crate::{one::Thing, two};
        #[cfg(test)]
        use crate::three::Thing;
        fn run() { println!("{}", crate::four::NAME); crate::five::run(); }
        mod inner { use super::super::super::six; }
        use super::super::nine;
        use super::ten;
        use crate::Thirteen;
        fn path() { super::super::twelve::run() }
        #[cfg(test)]
        mod tests { use crate::seven; }
        impl Run { #[cfg(test)] fn run() { crate::eight::run() } }
    "#;
    let names = [
        "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "twelve",
    ];
    let modules = names.into_iter().map(|it| (it.to_owned(), it.to_owned()));
    let mut modules = Modules(modules.collect());
    modules
        .0
        .insert("thirteen".to_owned(), "thirteen".to_owned());
    let root = "pub use thirteen::{self, Thirteen}; use std::fmt;";
    for item in syn::parse_file(root).expect("it is Rust").items {
        if let Item::Use(item) = item {
            modules.import(&item.tree);
        }
    }
    let mut finder = Finder {
        modules: &modules,
        module: "zero",
        depth: 2,
        found: BTreeSet::new(),
    };
    finder.visit_file(&syn::parse_file(source).expect("it is Rust"));
    let found: Vec<&str> = finder.found.iter().map(String::as_str).collect();
    assert_eq!(
        found,
        [
            "five", "four", "nine", "one", "six", "thirteen", "twelve", "two"
        ]
    );
}
