//! Numbers in words, which can spell out a code: "four four seven one" and "forty-four seventy-one" are 4471. English and
//! French.

/// How a text reads with digits instead of words for numbers: once word by word ("forty four" is `40 4`), and once with
/// words that form one number taken together (`44`). Empty when the text has no word for a number.
pub(crate) fn readings(text: &str) -> Vec<String> {
    let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()).collect();
    let values: Vec<Option<u32>> = words.iter().map(|word| value(word)).collect();
    if values.iter().all(Option::is_none) {
        return Vec::new();
    }
    let apart = words.iter().zip(&values).map(|(word, value)| match value {
        Some(value) => value.to_string(),
        None => (*word).to_owned(),
    });
    vec![apart.collect::<Vec<_>>().join(" "), together(&words, &values)]
}

/// The value of a word for a number.
fn value(word: &str) -> Option<u32> {
    const LONGEST: usize = "cinquante".len();
    if word.len() > LONGEST {
        return None;
    }
    Some(match word.to_lowercase().as_str() {
        "zero" | "zéro" | "oh" => 0,
        "one" | "un" | "une" => 1,
        "two" | "deux" => 2,
        "three" | "trois" => 3,
        "four" | "quatre" => 4,
        "five" | "cinq" => 5,
        "six" => 6,
        "seven" | "sept" => 7,
        "eight" | "huit" => 8,
        "nine" | "neuf" => 9,
        "ten" | "dix" => 10,
        "eleven" | "onze" => 11,
        "twelve" | "douze" => 12,
        "thirteen" | "treize" => 13,
        "fourteen" | "quatorze" => 14,
        "fifteen" | "quinze" => 15,
        "sixteen" | "seize" => 16,
        "seventeen" => 17,
        "eighteen" => 18,
        "nineteen" => 19,
        "twenty" | "vingt" | "vingts" => 20,
        "thirty" | "trente" => 30,
        "forty" | "fourty" | "quarante" => 40,
        "fifty" | "cinquante" => 50,
        "sixty" | "soixante" => 60,
        "seventy" | "septante" => 70,
        "eighty" | "huitante" | "octante" => 80,
        "ninety" | "nonante" => 90,
        "hundred" | "cent" | "cents" => 100,
        "thousand" | "mille" => 1000,
        _ => return None,
    })
}

fn together(words: &[&str], values: &[Option<u32>]) -> String {
    let mut read: Vec<String> = Vec::new();
    let mut open: Option<Number> = None;
    for (index, (word, value)) in words.iter().zip(values).enumerate() {
        // "quatre vingt" is 80, and "four twenty" is 4 and 20.
        let is_of_four = *value == Some(20) && word.to_lowercase().starts_with("vingt");
        match (value, &mut open) {
            (Some(20), Some(number)) if is_of_four && number.last == 4 => number.add_eighty(),
            (Some(value), Some(number)) if number.takes(*value) => number.add(*value),
            (Some(value), _) => {
                read.extend(open.replace(Number::starting(*value)).map(|number| number.value().to_string()));
            }
            (None, Some(number)) if is_joint(word) => {
                let goes_on = values.get(index + 1).copied().flatten().is_some_and(|next| number.takes(next));
                if !goes_on {
                    read.extend(open.take().map(|number| number.value().to_string()));
                    read.push((*word).to_owned());
                }
            }
            (None, _) => {
                read.extend(open.take().map(|number| number.value().to_string()));
                read.push((*word).to_owned());
            }
        }
    }
    read.extend(open.map(|number| number.value().to_string()));
    read.join(" ")
}

/// Words inside a number: "four hundred and four", "soixante et onze".
fn is_joint(word: &str) -> bool {
    ["and", "et"].iter().any(|joint| word.eq_ignore_ascii_case(joint))
}

/// A number of which some words were read.
struct Number {
    thousands: u32,
    rest: u32,
    /// The value of its last word.
    last: u32,
}

impl Number {
    const fn starting(value: u32) -> Self {
        match value {
            1000 => Self { thousands: 1, rest: 0, last: value },
            _ => Self { thousands: 0, rest: value, last: value },
        }
    }

    const fn value(&self) -> u32 {
        self.thousands * 1000 + self.rest
    }

    /// Whether a word with this value goes on with the number.
    const fn takes(&self, value: u32) -> bool {
        match value {
            1000 => self.thousands == 0 && self.rest > 0,
            100 => 1 <= self.last && self.last <= 9 && self.rest == self.last,
            0 => false,
            1..=9 if self.last == 10 => value >= 7,
            1..=9 => self.last >= 20,
            10..=19 => matches!(self.last, 60 | 80) || self.last >= 100,
            _ => self.last >= 100,
        }
    }

    const fn add(&mut self, value: u32) {
        match value {
            1000 => (self.thousands, self.rest) = (self.rest, 0),
            100 => self.rest *= 100,
            _ => self.rest += value,
        }
        self.last = value;
    }

    const fn add_eighty(&mut self) {
        self.rest += 76;
        self.last = 80;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_in_words_are_read_apart_and_together() {
        for (text, apart, together) in [
            ("four four seven one", "4 4 7 1", "4 4 7 1"),
            ("Forty-four, seventy-one ZX.", "40 4 70 1 ZX", "44 71 ZX"),
            ("four thousand four hundred and seventy-one", "4 1000 4 100 and 70 1", "4471"),
            ("nineteen eighty-four", "19 80 4", "19 84"),
            ("two and four", "2 and 4", "2 and 4"),
            ("twenty and more", "20 and more", "20 and more"),
            ("four twenty", "4 20", "4 20"),
            ("quatre-vingt-dix-neuf", "4 20 10 9", "99"),
            ("soixante et onze", "60 et 11", "71"),
            ("dix-sept", "10 7", "17"),
            ("deux cent quatre-vingts", "2 100 4 20", "280"),
            ("mille neuf cent quatre-vingt-quatre", "1000 9 100 4 20 4", "1984"),
            ("zero oh five", "0 0 5", "0 0 5"),
            ("a hundred thousand", "a 100 1000", "a 100000"),
        ] {
            assert_eq!(readings(text), [apart, together], "{text}");
        }
        assert!(readings("The harbour lies north.").is_empty() && readings("").is_empty());
    }

    /// Every number below 10,000 as English writes it comes back.
    #[test]
    fn every_number_comes_back_from_its_words() {
        const ONES: [&str; 20] = [
            "",
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
        ];
        const TENS: [&str; 10] = ["", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety"];
        let below_100 =
            |n: usize| if n < 20 { ONES[n].to_owned() } else { format!("{}-{}", TENS[n / 10], ONES[n % 10]) };
        for number in 1..10_000_usize {
            let (thousands, hundreds, rest) = (number / 1000, number / 100 % 10, number % 100);
            let mut words = String::new();
            if thousands > 0 {
                words += &format!("{} thousand ", ONES[thousands]);
            }
            if hundreds > 0 {
                words += &format!("{} hundred ", ONES[hundreds]);
            }
            words += &below_100(rest);
            assert_eq!(readings(&words)[1], number.to_string(), "{words}");
        }
    }
}
