//! What a cell may ask of the kernel.
//!
//! ```text
//!  calls.rs       the calls a guest has; no other exists for it
//!  arguments.rs   the calls it has for some purposes only
//!  program.rs     turns both into a program that the kernel runs on every call
//! ```
//!
//! Both are lists of what is allowed, taken from what CPython, its C extensions and ordinary
//! programs were seen to use. So a call, a kind of socket or a request that a later kernel adds
//! stays closed until somebody adds it here.
//!
//! The zygote lives under the same list, and every cell inherits it. Only the few calls that make
//! cells are left to a second program, which each cell adds. That program is small because the
//! kernel compiles it again for each cell. Where the two programs differ, the kernel takes the
//! stricter answer.

mod arguments;
mod calls;
mod program;

use linux_raw_sys::{general, net};

use program::{Answer, Rule, Table, Test, Treatment, compile};

const EPERM: Answer = Answer::Errno(1);
const EINVAL: Answer = Answer::Errno(22);
const ENOSYS: Answer = Answer::Errno(38);
const DONE: Answer = Answer::Errno(0);

/// Whether PID 1 is asked before a guest makes something in the kernel that no limit counts: an
/// Internet socket, a connection that nobody has accepted, a lock on a part of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Supervision {
    /// Each such call waits for an answer from the process that holds this program's listener.
    Watched,
    /// Nobody is asked.
    Unwatched,
}

/// Whether programs in a cell can have terminals.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Terminals {
    /// There are none.
    None,
    /// Those that they make themselves, which nobody outside has.
    OfItsOwn,
}

/// The zygote's program, in the kernel's layout. Its cells inherit it.
pub fn zygote_filter(terminals: Terminals) -> Vec<u8> {
    compile(&zygote_table(terminals), ENOSYS)
}

/// The ways in which cells' filters differ.
#[derive(Debug, Clone, Copy)]
pub struct CellFilter {
    /// Whether somebody is asked about sockets and locks.
    pub supervision: Supervision,
    /// How the cell's memory is counted.
    pub memory: MemoryAccounting,
}

/// How a cell's memory is counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MemoryAccounting {
    /// A control group counts all processes of the cell together.
    PerCell,
    /// Each process counts alone. Memory that belongs to no process would escape every limit, so
    /// the filter refuses it.
    PerProcess,
}

/// The program that each cell adds to the zygote's.
pub fn cell_filter(cell: CellFilter) -> Vec<u8> {
    compile(&cell_table(cell), Answer::Allow)
}

fn zygote_table(terminals: Terminals) -> Table {
    let with = |calls: &'static [u32], answer: Answer| {
        calls.iter().map(move |call| (i64::from(*call), Treatment::from(answer)))
    };
    let mut table: Table = with(calls::ALLOWED, Answer::Allow)
        .chain(with(calls::ALLOWED_ON_THIS_ARCHITECTURE, Answer::Allow))
        .chain(with(calls::FOR_MAKING_CELLS, Answer::Allow))
        .chain(with(calls::PRETENDED, DONE))
        .chain(with(calls::FORBIDDEN, EPERM))
        .collect();
    arguments::restrict(&mut table, terminals);
    table
}

fn cell_table(cell: CellFilter) -> Table {
    const NAMESPACES: u32 = 0x7e02_0080; // every CLONE_NEW*, NEWTIME included
    let unless = |test, answer| Treatment {
        rules: vec![Rule { tests: vec![test], answer }],
        otherwise: Answer::Allow,
    };
    let mut table: Table =
        calls::FOR_MAKING_CELLS.iter().map(|call| (i64::from(*call), Treatment::from(EPERM))).collect();
    let new_namespaces = Test::AnyOf { argument: 0, mask: NAMESPACES };
    table.insert(general::__NR_clone.into(), unless(new_namespaces, EPERM));
    // A further filter would be one more program in the kernel, in memory for which the whole
    // machine has one limit.
    let more_filters = Test::In { argument: 0, values: vec![arguments::PR_SET_SECCOMP] };
    table.insert(general::__NR_prctl.into(), unless(more_filters, EINVAL));
    if cell.supervision == Supervision::Watched {
        let internet = Test::In { argument: 0, values: vec![net::AF_INET, net::AF_INET6] };
        table.insert(general::__NR_socket.into(), unless(internet, Answer::Notify));
        table.insert(general::__NR_connect.into(), Answer::Notify.into());
        let locking = Test::In { argument: 1, values: vec![general::F_SETLK, general::F_SETLKW] };
        table.insert(general::__NR_fcntl.into(), unless(locking, Answer::Notify));
    }
    if cell.memory == MemoryAccounting::PerProcess {
        for call in calls::UNOWNED_MEMORY {
            table.insert((*call).into(), ENOSYS.into());
        }
    }
    table
}

#[cfg(test)]
mod tests {
    use super::program::tests::{HERE, run, word};
    use super::*;

    fn cell(supervision: Supervision) -> Vec<u8> {
        cell_filter(CellFilter { supervision, memory: MemoryAccounting::PerProcess })
    }

    #[test]
    fn the_programs_fit_the_kernels_limit() {
        const BPF_MAXINSNS: usize = 4096;
        for program in
            [zygote_filter(Terminals::OfItsOwn), cell(Supervision::Watched), cell(Supervision::Unwatched)]
        {
            assert!(!program.is_empty());
            assert_eq!(program.len() % 8, 0);
            assert!(program.len() / 8 < BPF_MAXINSNS, "{} instructions", program.len() / 8);
        }
    }

    #[test]
    fn no_call_is_listed_twice() {
        let lists = [
            calls::ALLOWED,
            calls::ALLOWED_ON_THIS_ARCHITECTURE,
            calls::FOR_MAKING_CELLS,
            calls::PRETENDED,
            calls::FORBIDDEN,
        ];
        let mut all: Vec<u32> = lists.concat();
        all.sort_unstable();
        let count = all.len();
        all.dedup();
        assert_eq!(all.len(), count);
    }

    #[test]
    fn calls_of_kernels_to_come_do_not_exist() {
        let program = zygote_filter(Terminals::OfItsOwn);
        let newest = 470;
        for number in newest..2000 {
            assert_eq!(run(&program, HERE, number, [0; 6]), word(ENOSYS), "call {number}");
        }
    }

    #[test]
    fn sockets_connections_and_locks_are_asked_about_only_where_somebody_answers() {
        let answers = |call, arguments: [u64; 6]| {
            [Supervision::Watched, Supervision::Unwatched]
                .map(|supervision| run(&cell(supervision), HERE, call, arguments))
        };
        let (asked, free) = (word(Answer::Notify), word(Answer::Allow));
        for family in [2, 10] {
            assert_eq!(answers(general::__NR_socket, [family, 1, 0, 0, 0, 0]), [asked, free]);
        }
        assert_eq!(answers(general::__NR_socket, [1, 1, 0, 0, 0, 0]), [free, free]);
        assert_eq!(answers(general::__NR_connect, [3, 5, 0, 0, 0, 0]), [asked, free]);
        for (command, expected) in
            [(general::F_SETLK, asked), (general::F_SETLKW, asked), (general::F_GETFL, free)]
        {
            assert_eq!(answers(general::__NR_fcntl, [3, command.into(), 0, 0, 0, 0]), [expected, free]);
        }
    }
}
