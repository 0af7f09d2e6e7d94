//! A picture as sixels: six rows at a time, and of these one colour at a time.
//!
//! Terminals that take sixels decode nothing else, so a script's PNG is decoded here, by a decoder
//! without unsafe code and with a bound on its memory.

use std::fmt::Write;
use std::io::Cursor;

/// The most pixels a side may have on the screen. What is larger is made smaller.
const LONGEST_SIDE: usize = 800;
/// The most pixels that are decoded.
const MOST_PIXELS: u64 = 8_000_000;
/// The most colours that every terminal has.
const MOST_COLOURS: usize = 256;
/// Rows in a band.
const BAND: usize = 6;

type Colour = [u8; 3];

/// The picture as a sequence to write. `None` if it is no PNG that can be decoded.
pub(super) fn sixels(png: &[u8]) -> Option<String> {
    let picture = Picture::decode(png)?.made_smaller();
    let palette = Palette::of(&picture.pixels);
    let numbers: Vec<u8> = picture.pixels.iter().map(|colour| palette.number(*colour)).collect();
    let mut text = format!("\x1bP0;1;0q\"1;1;{};{}", picture.width, picture.height());
    for (number, colour) in palette.colours.iter().enumerate() {
        let [red, green, blue] = colour.map(|part| u32::from(part) * 100 / 255);
        write!(text, "#{number};2;{red};{green};{blue}").ok()?;
    }
    for band in numbers.chunks(picture.width * BAND) {
        write_band(&mut text, band, picture.width);
    }
    text.push_str("\x1b\\");
    Some(text)
}

struct Picture {
    width: usize,
    pixels: Vec<Colour>,
}

impl Picture {
    /// What is transparent is shown on white, as in a notebook.
    fn decode(png: &[u8]) -> Option<Self> {
        let mut decoder = png::Decoder::new_with_limits(Cursor::new(png), png::Limits { bytes: 64 << 20 });
        decoder.set_transformations(png::Transformations::normalize_to_color8());
        let mut reader = decoder.read_info().ok()?;
        let (width, height) = reader.info().size();
        if u64::from(width) * u64::from(height) > MOST_PIXELS {
            return None;
        }
        let mut bytes = vec![0; reader.output_buffer_size()?];
        let frame = reader.next_frame(&mut bytes).ok()?;
        bytes.truncate(frame.buffer_size());
        let on_white = |part: u8, alpha: u8| {
            let (part, alpha) = (u32::from(part), u32::from(alpha));
            u8::try_from((part * alpha + 255 * (255 - alpha)) / 255).unwrap_or(255)
        };
        let pixels = match frame.color_type {
            png::ColorType::Grayscale => bytes.iter().map(|grey| [*grey; 3]).collect(),
            png::ColorType::GrayscaleAlpha => {
                bytes.as_chunks().0.iter().map(|&[grey, alpha]| [on_white(grey, alpha); 3]).collect()
            }
            png::ColorType::Rgb => bytes.as_chunks().0.to_vec(),
            png::ColorType::Rgba => {
                let chunks = bytes.as_chunks().0.iter();
                chunks
                    .map(|&[red, green, blue, alpha]| [red, green, blue].map(|part| on_white(part, alpha)))
                    .collect()
            }
            png::ColorType::Indexed => return None,
        };
        Some(Self { width: width as usize, pixels })
    }

    fn height(&self) -> usize {
        self.pixels.len() / self.width
    }

    /// Each pixel is the mean of those that it stands for.
    fn made_smaller(self) -> Self {
        let longest = self.width.max(self.height());
        if longest <= LONGEST_SIDE {
            return self;
        }
        let shrunk = |side: usize| (side * LONGEST_SIDE / longest).max(1);
        let (width, height) = (shrunk(self.width), shrunk(self.height()));
        let span = |at: usize, to: usize, from: usize| {
            at * from / to..((at + 1) * from / to).max(at * from / to + 1)
        };
        let mut pixels = Vec::with_capacity(width * height);
        for row in 0..height {
            for column in 0..width {
                let (mut sum, mut count) = ([0u32; 3], 0u32);
                for y in span(row, height, self.height()) {
                    for x in span(column, width, self.width) {
                        let colour = self.pixels[y * self.width + x];
                        sum = std::array::from_fn(|part| sum[part] + u32::from(colour[part]));
                        count += 1;
                    }
                }
                pixels.push(sum.map(|part| u8::try_from(part / count).unwrap_or(255)));
            }
        }
        Self { width, pixels }
    }
}

/// The colours of a picture itself, if they are few. Otherwise the same cube for all pictures.
struct Palette {
    colours: Vec<Colour>,
    is_exact: bool,
}

/// Steps of red, green and blue in the cube: 252 colours, the most of them for what the eye sees
/// best.
const STEPS: [usize; 3] = [6, 7, 6];

impl Palette {
    fn of(pixels: &[Colour]) -> Self {
        let mut colours: Vec<Colour> = Vec::new();
        for colour in pixels {
            if let Err(place) = colours.binary_search(colour) {
                if colours.len() == MOST_COLOURS {
                    return Self { colours: cube(), is_exact: false };
                }
                colours.insert(place, *colour);
            }
        }
        Self { colours, is_exact: true }
    }

    fn number(&self, colour: Colour) -> u8 {
        let number = match self.is_exact {
            true => self.colours.binary_search(&colour).unwrap_or(0),
            false => (0..3).fold(0, |number, part| {
                let most = STEPS[part] - 1;
                number * STEPS[part] + (usize::from(colour[part]) * most + 127) / 255
            }),
        };
        u8::try_from(number).unwrap_or(u8::MAX)
    }
}

fn cube() -> Vec<Colour> {
    let [reds, greens, blues] = STEPS;
    let level = |step: usize, steps: usize| u8::try_from(step * 255 / (steps - 1)).unwrap_or(255);
    (0..reds * greens * blues)
        .map(|number| {
            let (red, green, blue) = (number / blues / greens, number / blues % greens, number % blues);
            [level(red, reds), level(green, greens), level(blue, blues)]
        })
        .collect()
}

/// One line for each colour that is in the band, all in the same place.
fn write_band(text: &mut String, band: &[u8], width: usize) {
    let mut used = [false; MOST_COLOURS];
    band.iter().for_each(|number| used[usize::from(*number)] = true);
    for (colour, _) in used.iter().enumerate().filter(|(_, used)| **used) {
        let bits = (0..width).map(|column| {
            let rows = band.iter().skip(column).step_by(width).enumerate();
            rows.filter(|(_, number)| usize::from(**number) == colour)
                .fold(0u8, |bits, (row, _)| bits | 1 << row)
        });
        let _ = write!(text, "#{colour}");
        write_runs(text, bits);
        text.push('$');
    }
    text.push('-');
}

fn write_runs(text: &mut String, bits: impl Iterator<Item = u8>) {
    let mut bits = bits.peekable();
    while let Some(sixel) = bits.next() {
        let mut count = 1;
        while bits.next_if_eq(&sixel).is_some() {
            count += 1;
        }
        let letter = char::from(b'?' + sixel);
        match count {
            1..4 => text.extend(std::iter::repeat_n(letter, count)),
            // What is empty up to the end need not be said.
            _ if sixel == 0 && bits.peek().is_none() => {}
            _ => {
                let _ = write!(text, "!{count}{letter}");
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn png(width: u32, height: u32, colour: png::ColorType, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, width, height);
        encoder.set_color(colour);
        encoder.write_header().unwrap().write_image_data(bytes).unwrap();
        out
    }

    /// Reads sixels back: what a terminal would show, in percent.
    fn shown(text: &str) -> Vec<Vec<[u32; 3]>> {
        let body = text.strip_prefix("\x1bP0;1;0q\"1;1;").unwrap().strip_suffix("\x1b\\").unwrap();
        let digits = |text: &str| text.chars().take_while(char::is_ascii_digit).count();
        let (width, rest) = body.split_at(digits(body));
        let rest = &rest[1..];
        let (height, mut rest) = rest.split_at(digits(rest));
        let (width, height): (usize, usize) = (width.parse().unwrap(), height.parse().unwrap());
        let mut palette = std::collections::HashMap::new();
        let mut screen = vec![vec![[999; 3]; width]; height];
        let (mut colour, mut column, mut band) = (0, 0, 0);
        let mut count = 1;
        while let Some(first) = rest.chars().next() {
            rest = &rest[1..];
            match first {
                '#' => {
                    let (number, after) = rest.split_at(digits(rest));
                    colour = number.parse().unwrap();
                    rest = after;
                    if let Some(after) = rest.strip_prefix(";2;") {
                        let end = after.find(|c: char| c != ';' && !c.is_ascii_digit()).unwrap();
                        let parts: Vec<u32> =
                            after[..end].split(';').map(|part| part.parse().unwrap()).collect();
                        palette.insert(colour, [parts[0], parts[1], parts[2]]);
                        rest = &after[end..];
                    }
                }
                '!' => {
                    let (number, after) = rest.split_at(digits(rest));
                    (count, rest) = (number.parse().unwrap(), after);
                }
                '$' => column = 0,
                '-' => (column, band) = (0, band + 1),
                letter => {
                    let bits = letter as u8 - b'?';
                    for _ in 0..count {
                        for row in (0..BAND).filter(|row| bits & 1 << row != 0) {
                            screen[band * BAND + row][column] = palette[&colour];
                        }
                        column += 1;
                    }
                    count = 1;
                }
            }
        }
        screen
    }

    #[test]
    fn a_picture_of_few_colours_is_shown_as_it_is() {
        let bytes: Vec<u8> =
            (0..20 * 9u8).flat_map(|at| if at % 7 < 3 { [255, 0, 51] } else { [0, 255, 102] }).collect();
        let screen = shown(&sixels(&png(20, 9, png::ColorType::Rgb, &bytes)).unwrap());
        for (at, colour) in screen.concat().into_iter().enumerate() {
            assert_eq!(colour, if at % 7 < 3 { [100, 0, 20] } else { [0, 100, 40] }, "{at}");
        }
    }

    #[test]
    fn a_picture_of_many_colours_is_shown_nearly_as_it_is() {
        let bytes: Vec<u8> =
            (0..64 * 64usize).flat_map(|at| [(at % 64 * 4) as u8, (at / 64 * 4) as u8, 9]).collect();
        let screen = shown(&sixels(&png(64, 64, png::ColorType::Rgb, &bytes)).unwrap());
        for (at, colour) in screen.concat().into_iter().enumerate() {
            let wanted = [at % 64 * 4, at / 64 * 4, 9].map(|part| part as u32 * 100 / 255);
            assert!(
                colour.iter().zip(wanted).all(|(got, wanted)| got.abs_diff(wanted) <= 11),
                "{at}: {colour:?}"
            );
        }
    }

    #[test]
    fn what_is_transparent_is_white_and_what_is_large_is_made_smaller() {
        let screen = shown(&sixels(&png(2, 1, png::ColorType::Rgba, &[9, 9, 9, 0, 255, 0, 0, 255])).unwrap());
        assert_eq!(screen, [[[100, 100, 100], [100, 0, 0]]]);
        let large = png(2000, 10, png::ColorType::Grayscale, &[51; 20_000]);
        let screen = shown(&sixels(&large).unwrap());
        assert_eq!((screen[0].len(), screen.len()), (LONGEST_SIDE, 4));
        assert_eq!(screen[3][799], [20; 3]);
    }

    #[test]
    fn what_cannot_be_decoded_is_not_shown() {
        let whole = png(4, 4, png::ColorType::Rgb, &[7; 48]);
        assert!(sixels(&whole).is_some());
        for length in 0..whole.len() - 12 {
            let _ = sixels(&whole[..length]);
        }
        assert_eq!(sixels(b"\x89PNG\r\n\x1a\n"), None);
        assert_eq!(sixels(b"GIF89a"), None);
    }
}
