//! A term as it is being disguised: pieces that later disguises can still tell apart.

use std::fmt;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Role {
    /// A character of the term, possibly replaced or decorated.
    Letter,
    /// A character of the term inside an escape; its spelling must stay whole.
    Escaped,
    /// Something put between characters, or a space of the term.
    Mark,
    /// Markup, which is taken off before the text is displayed.
    Markup,
}

#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) text: String,
    pub(crate) role: Role,
}

impl Piece {
    pub(crate) fn new(text: impl Into<String>, role: Role) -> Self {
        Self { text: text.into(), role }
    }

    pub(crate) fn is_letter(&self) -> bool {
        matches!(self.role, Role::Letter | Role::Escaped)
    }
}

#[derive(Clone, Debug)]
pub(crate) struct Writing {
    pub(crate) term: &'static str,
    pub(crate) pieces: Vec<Piece>,
    /// Written from its end. A reader recognises that in one piece only, so that nothing may be put into it afterwards.
    pub(crate) turned: bool,
}

impl fmt::Display for Writing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pieces.iter().try_for_each(|piece| f.write_str(&piece.text))
    }
}

impl Writing {
    pub(crate) fn plain(term: &'static str) -> Self {
        let piece = |letter: char| Piece::new(letter, if letter == ' ' { Role::Mark } else { Role::Letter });
        Self { term, pieces: term.chars().map(piece).collect(), turned: false }
    }

    /// Only letters, spaces and underscores: marks between them do not change what is read.
    pub(crate) fn is_words(&self) -> bool {
        self.term.chars().all(|letter| letter.is_alphabetic() || " _".contains(letter))
    }

    fn letters(&self) -> usize {
        self.pieces.iter().filter(|piece| piece.is_letter()).count()
    }

    /// Replaces the first character of every piece that `map` knows. `None` if it knows none.
    pub(crate) fn map(mut self, map: impl Fn(char) -> Option<String>) -> Option<Self> {
        let mut changed = false;
        for piece in self.pieces.iter_mut().filter(|piece| piece.role == Role::Letter) {
            let mut rest = piece.text.chars();
            if let Some(other) = rest.next().and_then(&map) {
                piece.text = other + rest.as_str();
                changed = true;
            }
        }
        changed.then_some(self)
    }

    /// Turns every piece that is displayed as it is written into an escape.
    pub(crate) fn escape(mut self, escape: impl Fn(char) -> Option<String>) -> Option<Self> {
        let mut changed = false;
        for piece in self.pieces.iter_mut().filter(|piece| piece.role == Role::Letter) {
            let escaped: Option<String> = piece.text.chars().map(&escape).collect();
            if let Some(escaped) = escaped {
                *piece = Piece::new(escaped, Role::Escaped);
                changed = true;
            }
        }
        changed.then_some(self)
    }

    /// Puts a piece after every letter but the last.
    pub(crate) fn between(self, mut mark: impl FnMut() -> Piece) -> Option<Self> {
        let letters = self.letters();
        if letters < 2 || self.turned {
            return None;
        }
        let mut seen = 0;
        let mut pieces = Vec::new();
        for piece in self.pieces {
            let is_letter = piece.is_letter();
            pieces.push(piece);
            if is_letter {
                seen += 1;
                if seen < letters {
                    pieces.push(mark());
                }
            }
        }
        Some(Self { pieces, ..self })
    }

    /// Puts a piece after the `n`th letter, counted from 0.
    pub(crate) fn after_letter(mut self, n: usize, mark: Piece) -> Self {
        let at = self.pieces.iter().enumerate().filter(|(_, piece)| piece.is_letter()).nth(n).map(|(at, _)| at);
        self.pieces.insert(at.map_or(0, |at| at + 1), mark);
        self
    }

    /// One break, at a place between two letters.
    pub(crate) fn break_once(self, place: u64, mark: Piece) -> Option<Self> {
        let letters = self.letters();
        (letters >= 2 && !self.turned).then(|| self.after_letter((place % (letters as u64 - 1)) as usize, mark))
    }

    /// A pair of marks around some of the letters, not all.
    pub(crate) fn around_some(self, place: u64, (open, close): (&str, &str), role: Role) -> Option<Self> {
        let letters = self.letters() as u64;
        if letters < 2 || self.turned {
            return None;
        }
        let first = place % letters;
        let length = 1 + place / letters % (letters - 1);
        let last = (first + length - 1).min(letters - 1);
        let closed = self.after_letter(last as usize, Piece::new(close, role));
        let opening = Piece::new(open, role);
        Some(match first {
            0 => closed.surround(opening, None),
            first => closed.after_letter(first as usize - 1, opening),
        })
    }

    /// A pair of marks around every letter.
    pub(crate) fn around_each(self, (open, close): (&str, &str), role: Role) -> Option<Self> {
        if self.letters() < 2 || self.turned {
            return None;
        }
        let mut pieces = Vec::new();
        for piece in self.pieces {
            match piece.is_letter() {
                true => pieces.extend([Piece::new(open, role), piece, Piece::new(close, role)]),
                false => pieces.push(piece),
            }
        }
        Some(Self { pieces, ..self })
    }

    pub(crate) fn surround(mut self, open: Piece, close: Option<Piece>) -> Self {
        self.pieces.insert(0, open);
        self.pieces.extend(close);
        self
    }

    /// Whether a reader recognises it from its end: in one piece, of four letters or more, and not mostly digits. A number
    /// is then another number.
    pub(crate) fn is_readable_turned(&self) -> bool {
        let letters = self.term.chars().filter(|letter| letter.is_alphabetic()).count();
        let digits = self.term.chars().filter(char::is_ascii_digit).count();
        let is_whole = self.pieces.iter().all(|piece| piece.is_letter() || piece.text == " ");
        letters >= 4 && digits * 2 <= letters && is_whole
    }

    /// The pieces from the last to the first.
    pub(crate) fn reverse(mut self) -> Option<Self> {
        // Markup that has an opening and a closing part does not survive being turned.
        if self.letters() < 3 || self.pieces.iter().any(|piece| piece.role == Role::Markup) {
            return None;
        }
        self.pieces.reverse();
        Some(self)
    }

    /// The same, marked as written from its end.
    pub(crate) fn turn(self) -> Option<Self> {
        let turned = self.is_readable_turned().then_some(self)?.reverse()?;
        Some(Self { turned: true, ..turned })
    }
}
