//! The simple commands of a line, taken from the syntax tree where every node is of a known kind.

use std::ops::{ControlFlow, Range};

use tree_sitter::{Node, ParseOptions, ParseState, Parser, Tree};

use super::{
    MAX_LINE_BYTES, MAX_SEGMENTS,
    scan::{self, Opaque},
    words::{Variable, Word},
};

/// How often the parser may report that it is still at work. It reports every hundred steps or
/// so; a plain line of the longest length needs a few hundred.
const MAX_PARSE_REPORTS: usize = 20_000;

/// How deep the tree may be.
const MAX_DEPTH: usize = 200;

/// A line with all the commands in it.
#[derive(Debug, Default)]
pub(super) struct Line {
    pub(super) commands: Vec<Simple>,
    /// Whether a command in it goes to another directory.
    pub(super) moves: bool,
}

impl Line {
    pub(super) fn of(simple: Simple) -> Self {
        let mut line = Self::default();
        line.push(simple);
        line
    }

    fn push(&mut self, simple: Simple) {
        let moves = |it: &Word| matches!(it.known(), Some("cd" | "pushd" | "popd"));
        self.moves |= simple.words.iter().any(moves);
        self.commands.push(simple);
    }
}

/// A simple command: assignments, words, redirections.
#[derive(Debug, Default)]
pub(super) struct Simple {
    pub(super) text: String,
    pub(super) assignments: Vec<Assignment>,
    pub(super) words: Vec<Word>,
    pub(super) redirections: Vec<Redirection>,
    /// Where in the line the command stands whose output it reads.
    pub(super) fed_by: Option<usize>,
}

impl Simple {
    /// Whether it gives a variable a value that later commands may see.
    pub(super) fn sets_variables(&self) -> bool {
        !self.assignments.is_empty()
            || self.words.first().is_some_and(|it| it.known() == Some("read"))
    }
}

/// `name=value`; the value of a loop's variable is one of several.
#[derive(Debug)]
pub(super) struct Assignment {
    pub(super) name: String,
    pub(super) value: Word,
}

/// Where a command reads from or writes to, other than its arguments.
#[derive(Debug)]
pub(super) struct Redirection {
    pub(super) operator: String,
    pub(super) target: Option<Word>,
}

/// Reads a line, or says why it cannot be read whole.
pub(super) fn line(text: &str) -> Result<Line, Opaque> {
    if text.len() > MAX_LINE_BYTES {
        return Err(Opaque::new("it is too long to read"));
    }
    scan::visible(text)?;
    let tokens = scan::tokens(text)?;
    let tree = parse(text)?;
    shallow(&tree)?;
    let mut seen = Vec::new();
    leaves(tree.root_node(), text, &mut seen)?;
    seen.sort_by_key(|it| (it.start, usize::MAX - it.end));
    if seen != tokens {
        return Err(Opaque::new("it can be read in two ways"));
    }
    let mut walk = Walk {
        text,
        tokens: &tokens,
        line: Line::default(),
        variables: Vec::new(),
        redirected: Vec::new(),
        feeder: None,
    };
    walk.statement(tree.root_node())?;
    if walk.line.commands.is_empty() {
        return Err(Opaque::new("there is no command in it"));
    }
    Ok(walk.line)
}

fn parse(text: &str) -> Result<Tree, Opaque> {
    let mut parser = Parser::new();
    let language = tree_sitter_bash::LANGUAGE.into();
    parser.set_language(&language).map_err(|_| Opaque::new("there is no grammar for it"))?;
    let mut n_reports = 0;
    let mut report = |_: &ParseState| {
        n_reports += 1;
        if n_reports > MAX_PARSE_REPORTS {
            ControlFlow::Break(())
        } else {
            ControlFlow::Continue(())
        }
    };
    let options = ParseOptions::new().progress_callback(&mut report);
    let mut bytes = |at: usize, _| text.as_bytes().get(at..).unwrap_or_default();
    let tree = parser
        .parse_with_options(&mut bytes, None, Some(options))
        .ok_or(Opaque::new("it takes too long to read"))?;
    if tree.root_node().has_error() {
        return Err(Opaque::new("its syntax is not known"));
    }
    Ok(tree)
}

/// Bounds the recursion of everything that walks the tree.
fn shallow(tree: &Tree) -> Result<(), Opaque> {
    let mut cursor = tree.walk();
    let mut depth = 0_usize;
    loop {
        if depth > MAX_DEPTH {
            return Err(Opaque::new("it nests too deep"));
        }
        if cursor.goto_first_child() {
            depth += 1;
            continue;
        }
        while !cursor.goto_next_sibling() {
            if !cursor.goto_parent() {
                return Ok(());
            }
            depth -= 1;
        }
    }
}

/// The places of words and operators as the tree has them.
fn leaves(node: Node<'_>, text: &str, seen: &mut Vec<Range<usize>>) -> Result<(), Opaque> {
    if !node.is_named() && node.child_count() == 0 {
        if !text[node.byte_range()].trim().is_empty() {
            seen.push(node.byte_range());
        }
        return Ok(());
    }
    match node.kind() {
        "comment" | "heredoc_end" => Ok(()),
        "heredoc_body" => {
            substitutions(node, &mut |_| Err(Opaque::new("an expanded here-document")))
        }
        "program"
        | "list"
        | "pipeline"
        | "subshell"
        | "compound_statement"
        | "redirected_statement"
        | "negated_command"
        | "if_statement"
        | "elif_clause"
        | "else_clause"
        | "while_statement"
        | "for_statement"
        | "do_group"
        | "command"
        | "command_name"
        | "test_command"
        | "declaration_command"
        | "unset_command"
        | "unary_expression"
        | "binary_expression"
        | "parenthesized_expression"
        | "file_redirect"
        | "herestring_redirect"
        | "heredoc_redirect"
        | "variable_assignments" => children(node).try_for_each(|child| leaves(child, text, seen)),
        "word"
        | "string"
        | "raw_string"
        | "ansi_c_string"
        | "concatenation"
        | "number"
        | "simple_expansion"
        | "expansion"
        | "command_substitution"
        | "process_substitution"
        | "arithmetic_expansion"
        | "brace_expression"
        | "variable_assignment"
        | "file_descriptor"
        | "test_operator"
        | "regex"
        | "extglob_pattern"
        | "heredoc_start"
        | "variable_name" => {
            seen.push(node.byte_range());
            substitutions(node, &mut |inner| {
                inside(inner).try_for_each(|child| leaves(child, text, seen))
            })
        }
        _ => Err(Opaque::new("a construct that is not modelled")),
    }
}

/// All at once, because finding the nth child takes time that grows with n.
fn children(node: Node<'_>) -> std::vec::IntoIter<Node<'_>> {
    node.children(&mut node.walk()).collect::<Vec<_>>().into_iter()
}

/// What a substitution holds, without what opens and closes it.
fn inside(node: Node<'_>) -> impl Iterator<Item = Node<'_>> {
    let n_children = children(node).len();
    children(node).take(n_children.saturating_sub(1)).skip(1)
}

/// Calls back for the outermost substitutions in a node, itself included.
fn substitutions<'t>(
    node: Node<'t>,
    each: &mut dyn FnMut(Node<'t>) -> Result<(), Opaque>,
) -> Result<(), Opaque> {
    if matches!(node.kind(), "command_substitution" | "process_substitution") {
        return each(node);
    }
    children(node).try_for_each(|child| substitutions(child, each))
}

/// Nodes that are one command each.
const SIMPLE: [&str; 6] = [
    "command",
    "test_command",
    "declaration_command",
    "unset_command",
    "variable_assignment",
    "variable_assignments",
];

struct Walk<'a> {
    text: &'a str,
    tokens: &'a [Range<usize>],
    line: Line,
    /// Of the loops that the walk is in.
    variables: Vec<Variable>,
    /// Commands that redirections belong to which the tree has further up.
    redirected: Vec<(usize, Simple)>,
    /// The command whose output the next one reads.
    feeder: Option<usize>,
}

impl Walk<'_> {
    fn statement(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        if self.line.commands.len() >= MAX_SEGMENTS {
            return Err(Opaque::new("there are too many commands in it"));
        }
        let feeder = self.feeder.take();
        match node.kind() {
            "pipeline" => self.pipeline(node),
            "program" | "list" | "subshell" | "compound_statement" | "negated_command"
            | "if_statement" | "elif_clause" | "else_clause" | "while_statement" | "do_group" => {
                children(node).filter(Node::is_named).try_for_each(|it| self.statement(it))
            }
            "comment" => Ok(()),
            "for_statement" => self.each(node),
            it if SIMPLE.contains(&it) => {
                let mut simple = self.simple(node)?;
                if let Some(at) = self.redirected.iter().position(|it| it.0 == node.id()) {
                    let (_, outer) = self.redirected.swap_remove(at);
                    simple.redirections.extend(outer.redirections);
                    simple.words.extend(outer.words);
                    simple.text = outer.text;
                }
                simple.fed_by = feeder;
                self.finish(simple, node)
            }
            "redirected_statement" => {
                self.feeder = feeder;
                self.redirected(node)
            }
            // `$(< file)`
            "file_redirect" => {
                let mut simple = self.bare(node);
                self.redirection(node, &mut simple)?;
                self.finish(simple, node)
            }
            _ => Err(Opaque::new("a construct that is not modelled")),
        }
    }

    fn pipeline(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        let has_errors = children(node).any(|it| it.kind() == "|&");
        let mut feeder = None;
        for child in children(node).filter(Node::is_named) {
            let at = self.line.commands.len();
            self.feeder = feeder;
            self.statement(child)?;
            self.feeder = None;
            // Of several commands, each may have written what comes.
            feeder = (!has_errors && self.line.commands.len() == at + 1).then_some(at);
        }
        Ok(())
    }

    fn decode(&self, range: Range<usize>) -> Word {
        Word::decode(&self.text[range], &self.variables)
    }

    fn bare(&self, node: Node<'_>) -> Simple {
        Simple { text: self.text[node.byte_range()].to_owned(), ..Simple::default() }
    }

    /// Adds a command, then those in its substitutions.
    fn finish(&mut self, simple: Simple, node: Node<'_>) -> Result<(), Opaque> {
        self.line.push(simple);
        self.nested(node)
    }

    fn nested(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        let mut found = Vec::new();
        substitutions(node, &mut |inner| {
            found.push(inner);
            Ok(())
        })?;
        found
            .into_iter()
            .flat_map(inside)
            .filter(Node::is_named)
            .try_for_each(|it| self.statement(it))
    }

    fn each(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        if !self.text[node.start_byte()..].starts_with("for") {
            return Err(Opaque::new("a construct that is not modelled"));
        }
        let mut name = "";
        let mut items = Vec::new();
        for child in children(node).filter(Node::is_named) {
            match child.kind() {
                "variable_name" => name = &self.text[child.byte_range()],
                "do_group" => {
                    let mut simple = self.bare(node);
                    simple.text = format!("for {name}");
                    let value = Word::input();
                    simple.assignments.push(Assignment { name: name.to_owned(), value });
                    self.line.push(simple);
                    // Set twice, it could be something else by the time it is used.
                    let is_set = |it: &&Range<usize>| {
                        let value = Word::decode(&self.text[(*it).clone()], &[]).value;
                        value == name || value.starts_with(&format!("{name}="))
                    };
                    if self.tokens.iter().filter(is_set).count() > 1 {
                        items.clear();
                    }
                    self.variables.push(Variable::over(name, &items));
                    self.statement(child)?;
                    self.variables.pop();
                }
                "comment" => {}
                _ => {
                    items.push(self.decode(child.byte_range()));
                    self.nested(child)?;
                }
            }
        }
        Ok(())
    }

    fn simple(&self, node: Node<'_>) -> Result<Simple, Opaque> {
        let mut simple = self.bare(node);
        self.one_line(node)?;
        match node.kind() {
            "test_command" | "declaration_command" | "unset_command" => {
                // Both readers cut it into the same words, so what the tree makes of them
                // need not be followed.
                let range = node.byte_range();
                let mut end = range.start;
                let is_double = self.text[range.clone()].starts_with("[[");
                for token in self.tokens {
                    if token.start >= end && token.end <= range.end {
                        let raw = &self.text[token.clone()];
                        let is_operator = raw.starts_with(['<', '>', '&', '|', ';']);
                        // Shells without `[[` would see redirections.
                        if is_operator && !(is_double && matches!(raw, "&&" | "||")) {
                            return Err(Opaque::new("a redirection that is not modelled"));
                        }
                        simple.words.push(self.decode(token.clone()));
                        end = token.end;
                    }
                }
            }
            "variable_assignment" => self.assignment(node, &mut simple)?,
            "variable_assignments" => {
                for child in children(node) {
                    self.assignment(child, &mut simple)?;
                }
            }
            _ => self.command(node, &mut simple)?,
        }
        Ok(simple)
    }

    fn command(&self, node: Node<'_>, simple: &mut Simple) -> Result<(), Opaque> {
        for child in children(node) {
            match child.kind() {
                "variable_assignment" => self.assignment(child, simple)?,
                "file_redirect" | "herestring_redirect" => self.redirection(child, simple)?,
                "subshell" => return Err(Opaque::new("a construct that is not modelled")),
                "comment" => {}
                _ => simple.words.push(self.decode(child.byte_range())),
            }
        }
        Ok(())
    }

    fn assignment(&self, node: Node<'_>, simple: &mut Simple) -> Result<(), Opaque> {
        let (name, value) = self.text[node.byte_range()]
            .split_once('=')
            .ok_or(Opaque::new("an assignment that is not modelled"))?;
        // `name+=` and `name[1]=` fail here.
        if !scan::is_name(name) {
            return Err(Opaque::new("an assignment that is not modelled"));
        }
        simple.assignments.push(Assignment {
            name: name.to_owned(),
            value: Word::decode(value, &self.variables),
        });
        Ok(())
    }

    /// A newline between two words of a command would end it.
    fn one_line(&self, node: Node<'_>) -> Result<(), Opaque> {
        let mut end = None;
        for child in children(node) {
            if let Some(end) = end {
                let gap: &str = &self.text[end..child.start_byte()];
                if gap.replace("\\\n", "").contains('\n') {
                    return Err(Opaque::new("a command over several lines"));
                }
            }
            end = Some(child.end_byte());
        }
        Ok(())
    }

    fn redirected(&mut self, node: Node<'_>) -> Result<(), Opaque> {
        self.one_line(node)?;
        let body = node.child_by_field_name("body");
        // `a | b > c` is b's redirection, but the tree has it around both.
        let mut last = body;
        while let Some(outer) =
            last.filter(|it| matches!(it.kind(), "list" | "pipeline" | "negated_command"))
        {
            last = children(outer).rfind(Node::is_named);
        }
        let start = last.map_or(node.start_byte(), |it| it.start_byte());
        let text = self.text[start..node.end_byte()].to_owned();
        let mut simple = Simple { text, ..Simple::default() };
        let mut statements = Vec::new();
        for child in children(node).filter(|it| Some(*it) != body) {
            match child.kind() {
                "file_redirect" | "herestring_redirect" => self.redirection(child, &mut simple)?,
                "heredoc_redirect" => self.document(child, &mut simple, &mut statements)?,
                _ => return Err(Opaque::new("a redirection that is not modelled")),
            }
        }
        match last {
            Some(last) if SIMPLE.contains(&last.kind()) => {
                self.redirected.push((last.id(), simple));
            }
            _ => self.line.push(simple),
        }
        if let Some(body) = body {
            self.statement(body)?;
        }
        for child in children(node).filter(|it| Some(*it) != body) {
            if child.kind() != "heredoc_redirect" {
                self.nested(child)?;
            }
        }
        statements.into_iter().try_for_each(|it| self.statement(it))
    }

    /// In the tree the rest of the line belongs to the here-document that begins in it.
    fn document<'t>(
        &self,
        node: Node<'t>,
        simple: &mut Simple,
        statements: &mut Vec<Node<'t>>,
    ) -> Result<(), Opaque> {
        simple.redirections.push(Redirection { operator: "<<".to_owned(), target: None });
        for child in children(node) {
            match child.kind() {
                "heredoc_start" | "heredoc_body" | "heredoc_end" | "<<" | "<<-" | "&&" | "||"
                | "\n" => {}
                "file_redirect" | "herestring_redirect" => {
                    substitutions(child, &mut |_| {
                        Err(Opaque::new("a redirection that is not modelled"))
                    })?;
                    self.redirection(child, simple)?;
                }
                // After a here-document, words of the command.
                "word" | "string" | "raw_string" | "number" => {
                    substitutions(child, &mut |_| {
                        Err(Opaque::new("a redirection that is not modelled"))
                    })?;
                    simple.words.push(self.decode(child.byte_range()));
                }
                "pipeline" | "command" | "list" | "redirected_statement" => statements.push(child),
                _ => return Err(Opaque::new("a redirection that is not modelled")),
            }
        }
        Ok(())
    }

    fn redirection(&self, node: Node<'_>, simple: &mut Simple) -> Result<(), Opaque> {
        self.one_line(node)?;
        let mut operator = None;
        let mut targets = Vec::new();
        for child in children(node) {
            match child.kind() {
                "file_descriptor" => {}
                _ if !child.is_named() => operator = Some(self.text[child.byte_range()].to_owned()),
                _ => targets.push(self.decode(child.byte_range())),
            }
        }
        let operator = operator.ok_or(Opaque::new("a redirection that is not modelled"))?;
        // The tree takes the words after the target for targets too; they are arguments.
        let mut targets = targets.into_iter();
        simple.redirections.push(Redirection { operator, target: targets.next() });
        simple.words.extend(targets);
        Ok(())
    }
}
