//! Sources as lists of words: comments gone, strings told apart from names, tests left out.

use std::{
    fs,
    path::{Path, PathBuf},
};

use proc_macro2::{Delimiter, TokenStream, TokenTree};

/// One file of the project.
#[derive(Clone, Debug)]
pub(crate) struct File {
    /// Relative to the root, with forward slashes.
    pub(crate) path: String,
    /// As it stands.
    pub(crate) text: String,
}

/// One word of a Rust source.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Word {
    pub(crate) line: usize,
    /// Modules opened inside the file around this word.
    pub(crate) depth: usize,
    /// How many `view!` it stands in.
    pub(crate) views: usize,
    pub(crate) is: Is,
}

/// What a word is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Is {
    Name(String),
    Text(String),
    Sign(char),
    Open(char),
    Close(char),
}

impl File {
    /// A sample for trying a rule.
    pub(crate) fn sample(path: &str, text: &str) -> Self {
        Self {
            path: path.to_owned(),
            text: text.to_owned(),
        }
    }

    /// The room that it belongs to: `batch` for src/batch/..., `bin` for src/bin/..., `lib.rs` for itself.
    pub(crate) fn room(&self) -> &str {
        self.path
            .strip_prefix("src/")
            .and_then(|rest| rest.split('/').next())
            .unwrap_or_default()
    }

    /// All words outside of `#[cfg(test)]`; documentation comments are no words.
    pub(crate) fn words(&self) -> Vec<Word> {
        let tokens: TokenStream = self
            .text
            .parse()
            .unwrap_or_else(|e| panic!("{} is not Rust: {e}", self.path));
        let mut words = Vec::new();
        collect(tokens, Place { depth: 0, views: 0 }, &mut words);
        words
    }
}

/// Every file below `folder` whose name ends with `.extension`, in a steady order.
pub(crate) fn all_under(folder: &str, extension: &str) -> Vec<File> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut files = Vec::new();
    walk(&root.join(folder), &mut |path| {
        if path.extension().is_some_and(|e| e == extension) {
            let relative = path
                .strip_prefix(root)
                .unwrap_or(path)
                .to_string_lossy()
                .replace('\\', "/");
            files.push(File {
                path: relative,
                text: fs::read_to_string(path).expect("sources are UTF-8"),
            });
        }
    });
    files.sort_by(|a, b| a.path.cmp(&b.path));
    files
}

fn walk(folder: &Path, visit: &mut dyn FnMut(&Path)) {
    let entries: Vec<PathBuf> = fs::read_dir(folder)
        .into_iter()
        .flatten()
        .filter_map(|e| Some(e.ok()?.path()))
        .collect();
    for path in entries {
        if path.is_dir() {
            walk(&path, visit);
        } else {
            visit(&path);
        }
    }
}

#[derive(Clone, Copy)]
struct Place {
    depth: usize,
    views: usize,
}

fn collect(tokens: TokenStream, place: Place, words: &mut Vec<Word>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let mut i = 0;
    while i < tokens.len() {
        match attribute(&tokens[i..]) {
            Some(Attribute::Doc(length)) => i += length,
            Some(Attribute::Test(length)) => i += length + item_length(&tokens[i + length..]),
            None => {
                word(&tokens, i, place, words);
                i += 1;
            }
        }
    }
}

fn word(tokens: &[TokenTree], i: usize, place: Place, words: &mut Vec<Word>) {
    let token = &tokens[i];
    let line = token.span().start().line;
    let mut push = |line, is| {
        words.push(Word {
            line,
            depth: place.depth,
            views: place.views,
            is,
        });
    };
    match token {
        TokenTree::Ident(name) => push(line, Is::Name(name.to_string())),
        TokenTree::Punct(sign) => push(line, Is::Sign(sign.as_char())),
        TokenTree::Literal(literal) => push(line, Is::Text(literal.to_string())),
        TokenTree::Group(group) => {
            let (open, close) = match group.delimiter() {
                Delimiter::Brace => ('{', '}'),
                Delimiter::Bracket => ('[', ']'),
                Delimiter::Parenthesis | Delimiter::None => ('(', ')'),
            };
            push(line, Is::Open(open));
            let inner = Place {
                depth: place.depth + usize::from(i >= 2 && is_name(&tokens[i - 2], "mod")),
                views: place.views
                    + usize::from(i >= 2 && is_name(&tokens[i - 2], "view") && is_sign(&tokens[i - 1], '!')),
            };
            collect(group.stream(), inner, words);
            words.push(Word {
                line: group.span_close().start().line,
                depth: place.depth,
                views: place.views,
                is: Is::Close(close),
            });
        }
    }
}

enum Attribute {
    /// Tokens that it takes.
    Doc(usize),
    Test(usize),
}

/// `#[doc = ...]` (which documentation comments become) or `#[cfg(test)]` at the start of `tokens`.
fn attribute(tokens: &[TokenTree]) -> Option<Attribute> {
    let inner = usize::from(tokens.get(1).is_some_and(|t| is_sign(t, '!')));
    let TokenTree::Group(group) = tokens.get(1 + inner)? else {
        return None;
    };
    if !is_sign(&tokens[0], '#') || group.delimiter() != Delimiter::Bracket {
        return None;
    }
    let text = group.stream().to_string().replace(' ', "");
    if text.starts_with("doc=") {
        Some(Attribute::Doc(2 + inner))
    } else if inner == 0 && (text == "cfg(test)" || text.starts_with("cfg(all(test,")) {
        Some(Attribute::Test(2))
    } else {
        None
    }
}

/// Tokens up to the end of the item that starts here: its braces, or its semicolon.
fn item_length(tokens: &[TokenTree]) -> usize {
    let end = tokens.iter().position(|token| match token {
        TokenTree::Group(group) => group.delimiter() == Delimiter::Brace,
        other => is_sign(other, ';'),
    });
    end.map_or(tokens.len(), |i| i + 1)
}

fn is_name(token: &TokenTree, name: &str) -> bool {
    matches!(token, TokenTree::Ident(ident) if ident == name)
}

fn is_sign(token: &TokenTree, sign: char) -> bool {
    matches!(token, TokenTree::Punct(punct) if punct.as_char() == sign)
}

#[test]
fn words_are_without_comments_and_tests() {
    let file = File::sample(
        "src/batch/a.rs",
        "//! burn\n/// wgpu\nfn f() { /* leptos */ g(\"text\") }\n#[cfg(test)]\nmod tests { fn h() {} }\nmod inner { fn k() {} }",
    );
    let names: Vec<String> = file
        .words()
        .into_iter()
        .filter_map(|w| if let Is::Name(n) = w.is { Some(n) } else { None })
        .collect();
    assert_eq!(names, ["fn", "f", "g", "mod", "inner", "fn", "k"]);
    let k = file
        .words()
        .into_iter()
        .find(|w| w.is == Is::Name("k".to_owned()))
        .unwrap();
    assert_eq!((k.line, k.depth), (6, 1));
    assert_eq!(file.room(), "batch");
}
