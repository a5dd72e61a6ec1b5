//! The server's crates log under the targets of `log_targets.txt`, whatever module or crate an event is
//! in: they are what operators filter by. `BLESS=1` writes the file.

use std::{collections::BTreeSet, env, fs, path::Path};

use proc_macro2::{TokenStream, TokenTree};
use syn::{
    Expr, ExprLit, Item, ItemConst, Lit, Macro,
    visit::{self, Visit},
};

use crate::{
    sources::{self, attributes, is_of_tests},
    workspace,
};

const LEVELS: [&str; 5] = ["error", "warn", "info", "debug", "trace"];

/// Finds the targets of the events in a file.
struct Finder {
    /// The target of events that give none.
    module: String,
    /// The constants of the crate.
    constants: Vec<(String, String)>,
    /// Targets and levels.
    found: BTreeSet<(String, String)>,
}

impl<'ast> Visit<'ast> for Finder {
    fn visit_item(&mut self, item: &'ast Item) {
        if !is_of_tests(attributes(item)) {
            visit::visit_item(self, item);
        }
    }

    fn visit_macro(&mut self, item: &'ast Macro) {
        let segments = item.path.segments.iter();
        let names: Vec<String> = segments.map(|it| it.ident.to_string()).collect();
        let level = match names.iter().map(String::as_str).collect::<Vec<_>>()[..] {
            ["tracing", level] | [level] if LEVELS.contains(&level) => level.to_owned(),
            ["tracing", "event"] => "any".to_owned(),
            _ => return self.inside(item.tokens.clone()),
        };
        self.event(level, item.tokens.clone());
    }
}

impl Finder {
    /// Takes an event with these arguments.
    fn event(&mut self, level: String, arguments: TokenStream) {
        let tokens: Vec<TokenTree> = arguments.into_iter().collect();
        let target = match &tokens[..] {
            [TokenTree::Ident(name), _, target, ..] if name == "target" => self.named(target),
            _ => self.module.clone(),
        };
        self.found.insert((target, level));
    }

    /// Finds events in the arguments of another macro.
    fn inside(&mut self, arguments: TokenStream) {
        let tokens: Vec<TokenTree> = arguments.into_iter().collect();
        for (place, token) in tokens.iter().enumerate() {
            if let TokenTree::Group(group) = token {
                self.inside(group.stream());
            }
            if let TokenTree::Ident(name) = token
                && name == "tracing"
                && let Some(TokenTree::Ident(level)) = tokens.get(place + 3)
                && let Some(TokenTree::Group(event)) = tokens.get(place + 5)
                && LEVELS.iter().any(|known| level == known)
            {
                self.event(level.to_string(), event.stream());
            }
        }
    }

    /// Returns the target that an event names.
    fn named(&self, target: &TokenTree) -> String {
        let name = target.to_string();
        let mut constants = self.constants.iter();
        let constant = constants.find(|(constant, _)| *constant == name);
        match constant {
            Some((_, value)) => value.clone(),
            None => name.trim_matches('"').to_owned(),
        }
    }
}

/// Finds constants that are texts.
#[derive(Default)]
struct Constants(Vec<(String, String)>);

impl<'ast> Visit<'ast> for Constants {
    fn visit_item_const(&mut self, item: &'ast ItemConst) {
        if let Expr::Lit(ExprLit {
            lit: Lit::Str(text),
            ..
        }) = &*item.expr
        {
            self.0.push((item.ident.to_string(), text.value()));
        }
    }
}

/// Returns the targets and levels of the events of a crate.
fn targets(name: &str, source: &Path) -> BTreeSet<(String, String)> {
    let modules = sources::modules(source);
    let mut shared = Constants::default();
    for module in &modules {
        shared.visit_file(&module.contents);
    }
    let mut all = BTreeSet::new();
    for module in modules {
        let mut own = Constants::default();
        own.visit_file(&module.contents);
        own.0.extend(shared.0.iter().cloned());
        let path = [&[name.replace('-', "_")][..], &module.path[..]].concat();
        let mut finder = Finder {
            module: path.join("::"),
            constants: own.0,
            found: BTreeSet::new(),
        };
        finder.visit_file(&module.contents);
        all.append(&mut finder.found);
    }
    all
}

#[test]
fn events_of_the_log_keep_their_targets() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let crates = root.join("../crates");
    let folders = workspace::folders(&crates).expect("there are crates");
    let mut found = BTreeSet::new();
    for folder in folders {
        let name = folder
            .file_name()
            .and_then(|name| name.to_str())
            .unwrap_or_default();
        let source = folder.join("src");
        if name.starts_with("hyper-delay") && source.join("lib.rs").exists() {
            found.append(&mut targets(name, &source));
        }
    }
    let lines = found
        .iter()
        .map(|(target, level)| format!("{target} {level}\n"));
    let found: String = lines.collect();
    let file = root.join("src/log_targets.txt");
    if env::var_os("BLESS").is_some() {
        fs::write(&file, &found).expect("it is written");
    }
    let known = fs::read_to_string(&file).expect("there is a list");
    assert_eq!(
        found,
        known,
        "the targets have changed, see {}",
        file.display()
    );
}
