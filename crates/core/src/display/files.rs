//! Displays as files.

use std::collections::BTreeSet;

use super::{Display, mime};

impl Display {
    /// The files that this display is worth, if it is the `number`th of its run: names such as
    /// `display-1.png`, and what is in them.
    ///
    /// Text is a file of its own only where there is nothing better. No name depends on anything
    /// that a guest can choose but the kind of the data.
    pub fn files(&self, number: usize) -> impl Iterator<Item = (String, &[u8])> {
        let mut taken = BTreeSet::new();
        let only_text = self.forms().all(|(mime, _)| mime == "text/plain");
        let worth_it = self.forms().filter(move |(mime, _)| only_text || *mime != "text/plain");
        worth_it.map(move |(mime, data)| {
            let extension = mime::extension(mime);
            let mut name = format!("display-{number}.{extension}");
            let mut again = 2;
            while !taken.insert(name.clone()) {
                name = format!("display-{number}-{again}.{extension}");
                again += 1;
            }
            (name, data.as_bytes())
        })
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::display;

    fn names(data: &str) -> Vec<String> {
        display(data).files(3).map(|(name, _)| name).collect()
    }

    #[test]
    fn a_file_is_named_by_what_is_in_it() {
        let figure = r#"{"text/plain":"<Figure>","image/png":"iVBORw0KGgo="}"#;
        assert_eq!(names(figure), ["display-3.png"]);
        assert_eq!(
            display(figure).files(1).next(),
            Some(("display-1.png".to_owned(), &b"\x89PNG\r\n\x1a\n"[..]))
        );
        let plotly = r#"{"application/vnd.plotly.v1+json":{},"text/html":"<div>","text/plain":"Figure"}"#;
        assert_eq!(names(plotly), ["display-3.plotly.json", "display-3.html"]);
        assert_eq!(names(r#"{"text/plain":"5"}"#), ["display-3.txt"]);
    }

    #[test]
    fn two_forms_of_one_kind_are_two_files() {
        let odd = r#"{"application/x-a":"aGk=","application/x-b":"aGk=","image/odd.exe":"aGk="}"#;
        assert_eq!(names(odd), ["display-3.bin", "display-3-2.bin", "display-3-3.bin"]);
    }
}
