//! How plain data becomes bytes for the programs that this crate carries: numbers of eight bytes,
//! and everything else with its length before it.
//!
//! Both ends are built from the same sources together, so nothing carries a version. It is compiled
//! into the crate, into the cell library and into the helper.

/// Appends a number.
pub(crate) fn number(out: &mut Vec<u8>, value: u64) {
    out.extend_from_slice(&value.to_le_bytes());
}

/// Appends bytes, or text.
pub(crate) fn bytes(out: &mut Vec<u8>, value: impl AsRef<[u8]>) {
    number(out, value.as_ref().len() as u64);
    out.extend_from_slice(value.as_ref());
}

/// Appends a list.
pub(crate) fn list<T>(out: &mut Vec<u8>, items: &[T], mut item: impl FnMut(&mut Vec<u8>, &T)) {
    number(out, items.len() as u64);
    for each in items {
        item(out, each);
    }
}

/// Reads the same back. Every function returns `None` if the bytes are something else.
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub(crate) fn new(encoded: &'a [u8]) -> Self {
        Self(encoded)
    }

    /// Whether everything was read.
    pub(crate) fn is_at_the_end(&self) -> bool {
        self.0.is_empty()
    }

    pub(crate) fn number(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }

    pub(crate) fn bytes(&mut self) -> Option<&'a [u8]> {
        let length = self.number()?;
        self.take(usize::try_from(length).ok()?)
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        String::from_utf8(self.bytes()?.to_vec()).ok()
    }

    pub(crate) fn list<T>(&mut self, mut item: impl FnMut(&mut Self) -> Option<T>) -> Option<Vec<T>> {
        (0..self.number()?).map(|_| item(self)).collect()
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }
}
