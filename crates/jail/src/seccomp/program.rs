//! Turns a table of system calls into a program for the kernel.
//!
//! ```text
//!  number ─► binary search over the table ─► leaf: an answer, or argument tests that end in one
//! ```
//!
//! The search takes about nine comparisons for any call, wherever it is in the table. That matters
//! for calls with argument tests, because the kernel caches an answer only if it does not depend on
//! the arguments.
//!
//! Only the lower half of an argument is compared. The kernel reads 32 bits of every argument
//! tested here, so a test of all 64 bits could be fooled by the rest.

use std::collections::BTreeMap;

/// What the kernel does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Answer {
    /// Carries it out.
    Allow,
    /// Does nothing and returns this error, or success for 0.
    Errno(u16),
    /// Asks the process that holds the listener.
    Notify,
    /// Kills the process.
    Kill,
}

/// The rules for one call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Treatment {
    /// The first rule that matches decides.
    pub(super) rules: Vec<Rule>,
    /// The answer if no rule matches.
    pub(super) otherwise: Answer,
}

/// An answer, given if every test holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Rule {
    pub(super) tests: Vec<Test>,
    pub(super) answer: Answer,
}

/// A test of one argument, counted from 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Test {
    /// The bits of the mask have this value.
    Masked { argument: u8, mask: u32, value: u32 },
    /// At least one bit of the mask is set.
    AnyOf { argument: u8, mask: u32 },
    /// The argument is one of these.
    In { argument: u8, values: Vec<u32> },
    /// The argument is none of these.
    NotIn { argument: u8, values: Vec<u32> },
    /// The pointer is not null.
    NotNull { argument: u8 },
}

impl From<Answer> for Treatment {
    fn from(otherwise: Answer) -> Self {
        Self { rules: Vec::new(), otherwise }
    }
}

/// Every call that has a rule, by number.
pub(super) type Table = BTreeMap<i64, Treatment>;

/// One instruction, in the kernel's layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Instruction {
    code: u16,
    if_true: u8,
    if_false: u8,
    operand: u32,
}

const LOAD: u16 = 0x20;
const AND: u16 = 0x54;
const JUMP: u16 = 0x05;
const JUMP_IF_EQUAL: u16 = 0x15;
const JUMP_IF_AT_LEAST: u16 = 0x35;
const JUMP_IF_ANY_BIT: u16 = 0x45;
const RETURN: u16 = 0x06;

/// Offsets in the data that the kernel gives a program.
const NUMBER: u32 = 0;
const ARCHITECTURE: u32 = 4;
const FIRST_ARGUMENT: u32 = 16;

/// Calls of the x32 ABI come under the same architecture, with this bit set in the number.
#[cfg(target_arch = "x86_64")]
const X32: u32 = 0x4000_0000;

#[cfg(target_arch = "x86_64")]
const THIS_ARCHITECTURE: u32 = 0xc000_003e;
#[cfg(target_arch = "aarch64")]
const THIS_ARCHITECTURE: u32 = 0xc000_00b7;

/// Compiles a table to bytes. A call that is not in it gets `unlisted`. A call of a foreign
/// architecture kills the process.
pub(super) fn compile(table: &Table, unlisted: Answer) -> Vec<u8> {
    let mut program = vec![
        load(ARCHITECTURE),
        branch(JUMP_IF_EQUAL, THIS_ARCHITECTURE, 1, 0),
        answer(Answer::Kill),
        load(NUMBER),
    ];
    // -1 is not a call: a tracer on the host writes it to skip one. The kernel then does nothing.
    program.extend([branch(JUMP_IF_EQUAL, u32::MAX, 0, 1), answer(Answer::Allow)]);
    #[cfg(target_arch = "x86_64")]
    program.extend([branch(JUMP_IF_AT_LEAST, X32, 0, 1), answer(Answer::Kill)]);
    program.extend(search(&spans(table, unlisted)));
    program.iter().flat_map(|instruction| instruction.bytes()).collect()
}

/// A range of numbers: from this one up to the next span's.
struct Span {
    first: u32,
    treatment: Treatment,
}

/// Cuts the whole range of numbers where the treatment changes.
fn spans(table: &Table, unlisted: Answer) -> Vec<Span> {
    let mut spans = vec![Span { first: 0, treatment: unlisted.into() }];
    let mut push = |first: u32, treatment: Treatment| {
        let last = spans.last_mut().expect("there is one from the start");
        if last.first == first {
            last.treatment = treatment;
        } else if last.treatment != treatment {
            spans.push(Span { first, treatment });
        }
    };
    for (&number, treatment) in table {
        let number = u32::try_from(number).expect("call numbers are small and not negative");
        push(number, treatment.clone());
        if !table.contains_key(&i64::from(number + 1)) {
            push(number + 1, unlisted.into());
        }
    }
    spans
}

fn search(spans: &[Span]) -> Vec<Instruction> {
    if let [only] = spans {
        return treat(&only.treatment);
    }
    let (left, right) = spans.split_at(spans.len() / 2);
    let (below, above) = (search(left), search(right));
    let mut program = match u8::try_from(below.len()) {
        Ok(length) => vec![branch(JUMP_IF_AT_LEAST, right[0].first, length, 0)],
        // This is too far for a branch.
        Err(_) => {
            let length = u32::try_from(below.len()).expect("a program has a few thousand instructions");
            vec![
                branch(JUMP_IF_AT_LEAST, right[0].first, 0, 1),
                Instruction { code: JUMP, if_true: 0, if_false: 0, operand: length },
            ]
        }
    };
    program.extend(below);
    program.extend(above);
    program
}

fn treat(treatment: &Treatment) -> Vec<Instruction> {
    let mut program: Vec<Instruction> = treatment.rules.iter().flat_map(apply).collect();
    program.push(answer(treatment.otherwise));
    program
}

/// Compiles one rule: it returns its answer, or continues after itself.
fn apply(rule: &Rule) -> Vec<Instruction> {
    let mut program = vec![answer(rule.answer)];
    for test in rule.tests.iter().rev() {
        let behind = u8::try_from(program.len()).expect("a rule is short enough to jump over");
        let mut tested = ask(test, behind);
        tested.append(&mut program);
        program = tested;
    }
    program
}

/// Continues if the test holds, and otherwise skips `behind` more instructions.
fn ask(test: &Test, behind: u8) -> Vec<Instruction> {
    match test {
        Test::Masked { argument, mask, value } => vec![
            load(lower_half(*argument)),
            Instruction { code: AND, if_true: 0, if_false: 0, operand: *mask },
            branch(JUMP_IF_EQUAL, *value, 0, behind),
        ],
        Test::AnyOf { argument, mask } => {
            vec![load(lower_half(*argument)), branch(JUMP_IF_ANY_BIT, *mask, 0, behind)]
        }
        Test::In { argument, values } => {
            let mut program = vec![load(lower_half(*argument))];
            program.extend(values.iter().enumerate().map(|(at, value)| {
                let left = u8::try_from(values.len() - 1 - at).expect("a list is short enough to jump over");
                branch(JUMP_IF_EQUAL, *value, left, if left == 0 { behind } else { 0 })
            }));
            program
        }
        Test::NotIn { argument, values } => {
            let mut program = vec![load(lower_half(*argument))];
            program.extend(values.iter().enumerate().map(|(at, value)| {
                let left = u8::try_from(values.len() - 1 - at).expect("a list is short enough to jump over");
                let out = behind.checked_add(left).expect("a rule is short enough to jump over");
                branch(JUMP_IF_EQUAL, *value, out, 0)
            }));
            program
        }
        Test::NotNull { argument } => vec![
            load(lower_half(*argument)),
            branch(JUMP_IF_EQUAL, 0, 0, 2),
            load(lower_half(*argument) + 4),
            branch(JUMP_IF_EQUAL, 0, behind, 0),
        ],
    }
}

/// Both architectures are little-endian.
fn lower_half(argument: u8) -> u32 {
    FIRST_ARGUMENT + 8 * u32::from(argument)
}

fn load(offset: u32) -> Instruction {
    Instruction { code: LOAD, if_true: 0, if_false: 0, operand: offset }
}

fn branch(code: u16, operand: u32, if_true: u8, if_false: u8) -> Instruction {
    Instruction { code, if_true, if_false, operand }
}

fn answer(answer: Answer) -> Instruction {
    let operand = match answer {
        Answer::Allow => 0x7fff_0000,
        Answer::Errno(number) => 0x0005_0000 | u32::from(number),
        Answer::Notify => 0x7fc0_0000,
        Answer::Kill => 0x8000_0000,
    };
    Instruction { code: RETURN, if_true: 0, if_false: 0, operand }
}

impl Instruction {
    fn bytes(self) -> [u8; 8] {
        let [code_low, code_high] = self.code.to_ne_bytes();
        let [a, b, c, d] = self.operand.to_ne_bytes();
        [code_low, code_high, self.if_true, self.if_false, a, b, c, d]
    }
}

#[cfg(test)]
pub(super) mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Runs a program the way the kernel does.
    pub(in super::super) fn run(program: &[u8], architecture: u32, number: u32, arguments: [u64; 6]) -> u32 {
        let mut data = [0u8; 64];
        data[..4].copy_from_slice(&number.to_ne_bytes());
        data[4..8].copy_from_slice(&architecture.to_ne_bytes());
        for (at, argument) in arguments.iter().enumerate() {
            data[16 + 8 * at..24 + 8 * at].copy_from_slice(&argument.to_ne_bytes());
        }
        let word = |at: usize| u32::from_ne_bytes(data[at..at + 4].try_into().unwrap());
        let (mut at, mut accumulator, mut steps) = (0usize, 0u32, 0);
        loop {
            steps += 1;
            assert!(steps < 4096, "it does not end");
            let bytes: &[u8] = &program[at * 8..at * 8 + 8];
            let code = u16::from_ne_bytes([bytes[0], bytes[1]]);
            let (yes, no) = (usize::from(bytes[2]), usize::from(bytes[3]));
            let operand = u32::from_ne_bytes(bytes[4..8].try_into().unwrap());
            at += 1;
            let jump = |holds: bool| if holds { yes } else { no };
            match code {
                LOAD => accumulator = word(operand as usize),
                AND => accumulator &= operand,
                JUMP => at += operand as usize,
                JUMP_IF_EQUAL => at += jump(accumulator == operand),
                JUMP_IF_AT_LEAST => at += jump(accumulator >= operand),
                JUMP_IF_ANY_BIT => at += jump(accumulator & operand != 0),
                RETURN => return operand,
                other => panic!("instruction {other:#x}"),
            }
        }
    }

    pub(in super::super) const HERE: u32 = THIS_ARCHITECTURE;

    pub(in super::super) fn word(of: Answer) -> u32 {
        answer(of).operand
    }

    fn holds(test: &Test, arguments: &[u64; 6]) -> bool {
        let low = |argument: &u8| arguments[usize::from(*argument)] as u32;
        match test {
            Test::Masked { argument, mask, value } => low(argument) & mask == *value,
            Test::AnyOf { argument, mask } => low(argument) & mask != 0,
            Test::In { argument, values } => values.contains(&low(argument)),
            Test::NotIn { argument, values } => !values.contains(&low(argument)),
            Test::NotNull { argument } => arguments[usize::from(*argument)] != 0,
        }
    }

    fn expected(table: &Table, unlisted: Answer, number: u32, arguments: &[u64; 6]) -> Answer {
        let Some(treatment) = table.get(&i64::from(number)) else { return unlisted };
        let rule = treatment.rules.iter().find(|rule| rule.tests.iter().all(|test| holds(test, arguments)));
        rule.map_or(treatment.otherwise, |rule| rule.answer)
    }

    fn answers() -> impl Strategy<Value = Answer> {
        prop_oneof![
            Just(Answer::Allow),
            (0..40u16).prop_map(Answer::Errno),
            Just(Answer::Notify),
            Just(Answer::Kill)
        ]
    }

    fn questions() -> impl Strategy<Value = Test> {
        let few = || prop::collection::vec(0..6u32, 1..5);
        prop_oneof![
            (0..6u8, 0..8u32, 0..8u32).prop_map(|(argument, mask, value)| Test::Masked {
                argument,
                mask,
                value
            }),
            (0..6u8, 0..8u32).prop_map(|(argument, mask)| Test::AnyOf { argument, mask }),
            (0..6u8, few()).prop_map(|(argument, values)| Test::In { argument, values }),
            (0..6u8, few()).prop_map(|(argument, values)| Test::NotIn { argument, values }),
            (0..6u8).prop_map(|argument| Test::NotNull { argument }),
        ]
    }

    fn treatments() -> impl Strategy<Value = Treatment> {
        let rule = (prop::collection::vec(questions(), 0..4), answers())
            .prop_map(|(tests, answer)| Rule { tests, answer });
        (prop::collection::vec(rule, 0..4), answers())
            .prop_map(|(rules, otherwise)| Treatment { rules, otherwise })
    }

    proptest! {
        #[test]
        fn a_program_answers_as_its_table_says(
            table in prop::collection::btree_map(0..60i64, treatments(), 0..60),
            unlisted in answers(),
            arguments in prop::array::uniform6(prop_oneof![0..8u64, Just(1 << 32), Just((1 << 32) | 3)]),
        ) {
            let program = compile(&table, unlisted);
            for number in (0..64).chain([500, 0x3fff_ffff]) {
                let found = run(&program, THIS_ARCHITECTURE, number, arguments);
                prop_assert_eq!(found, word(expected(&table, unlisted, number, &arguments)), "call {}", number);
            }
            prop_assert_eq!(run(&program, 0x4000_0003, 1, arguments), word(Answer::Kill));
            if cfg!(target_arch = "x86_64") {
                prop_assert_eq!(run(&program, THIS_ARCHITECTURE, 0x4000_0001, arguments), word(Answer::Kill));
            }
        }
    }
}
