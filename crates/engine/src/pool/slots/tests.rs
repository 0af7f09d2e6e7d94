//! No order of events breaks the accounts, and each rule holds by itself.

use proptest::prelude::*;

use super::*;

/// What can happen to a pool, in any order.
#[derive(Debug, Clone, Copy)]
enum Step {
    Checkout,
    Cancel(usize),
    Made,
    MakingFailed,
    Resume,
    Stock(usize),
    Spent(usize),
    Returned(usize),
    CatchUp,
    IdleDied(usize),
    Close,
}

/// Small numbers, and the largest, with which sums would overflow.
fn numbers(below: usize) -> impl Strategy<Value = usize> {
    prop_oneof![8 => 0..below, 1 => usize::MAX - 2..=usize::MAX]
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        6 => Just(Step::Checkout),
        2 => any::<usize>().prop_map(Step::Cancel),
        6 => Just(Step::Made),
        2 => Just(Step::MakingFailed),
        1 => Just(Step::Resume),
        1 => numbers(9).prop_map(Step::Stock),
        4 => any::<usize>().prop_map(Step::Spent),
        2 => any::<usize>().prop_map(Step::Returned),
        1 => any::<usize>().prop_map(Step::IdleDied),
        3 => Just(Step::CatchUp),
    ];
    (prop::collection::vec(step, 0..120), any::<bool>()).prop_map(|(mut steps, close)| {
        if close {
            let middle = steps.len() / 2;
            steps.insert(middle, Step::Close);
        }
        steps
    })
}

/// A pool as a driver would run it, with books of its own to compare with.
struct Books {
    slots: Slots,
    next_cell: u64,
    next_ticket: u64,
    making: usize,
    idle: Vec<CellId>,
    leased: Vec<CellId>,
    queue: Vec<Ticket>,
    catching_up: bool,
    closed: bool,
}

impl Books {
    fn new(come_back: bool, stock: usize, overflow: usize) -> Self {
        let mut books = Self {
            slots: Slots::with_cells_that_come_back(come_back, stock, stock.saturating_add(overflow)),
            next_cell: 0,
            next_ticket: 0,
            making: 0,
            idle: Vec::new(),
            leased: Vec::new(),
            queue: Vec::new(),
            catching_up: false,
            closed: false,
        };
        let actions = books.slots.open();
        books.obey(actions, None);
        books
    }

    fn take(&mut self, step: Step) {
        let pick = |index: usize, from: &[CellId]| (!from.is_empty()).then(|| from[index % from.len()]);
        let (actions, new) = match step {
            Step::Checkout => {
                self.next_ticket += 1;
                let ticket = Ticket(self.next_ticket);
                self.queue.push(ticket);
                (self.slots.checkout(ticket, Turn::Last), None)
            }
            Step::Cancel(index) => {
                if self.queue.is_empty() {
                    return;
                }
                let ticket = self.queue.remove(index % self.queue.len());
                (self.slots.cancel(ticket), None)
            }
            Step::Made | Step::MakingFailed if self.making == 0 => return,
            Step::Made => {
                self.making -= 1;
                self.next_cell += 1;
                let cell = CellId::new(self.next_cell);
                (self.slots.made(cell), Some(cell))
            }
            Step::MakingFailed => {
                self.making -= 1;
                (self.slots.making_failed(), None)
            }
            Step::Resume => (self.slots.resume_stock(), None),
            Step::Stock(stock) => (self.slots.set_stock(stock), None),
            Step::Spent(index) => {
                let Some(cell) = pick(index, &self.leased) else { return };
                self.leased.retain(|leased| *leased != cell);
                (self.slots.spent(cell), None)
            }
            Step::Returned(index) => {
                let Some(cell) = pick(index, &self.leased) else { return };
                self.leased.retain(|leased| *leased != cell);
                (self.slots.returned(cell), Some(cell))
            }
            Step::IdleDied(index) => {
                let Some(cell) = pick(index, &self.idle) else { return };
                self.idle.retain(|idle| *idle != cell);
                (self.slots.died(cell), None)
            }
            Step::CatchUp if !self.catching_up => return,
            Step::CatchUp => {
                self.catching_up = false;
                (self.slots.catch_up(), None)
            }
            Step::Close => {
                self.closed = true;
                (self.slots.close(), None)
            }
        };
        self.obey(actions, new);
    }

    /// Does what the slots say, and checks that it can be done. `new` is a cell in nobody's
    /// hands.
    fn obey(&mut self, actions: Vec<Action>, new: Option<CellId>) {
        let mut new = new;
        for action in actions {
            match action {
                Action::Make => self.making += 1,
                Action::MakeSoon => {
                    assert!(!self.catching_up, "asked twice for one moment");
                    self.catching_up = true;
                }
                Action::Give { to, cell } => {
                    assert_eq!(self.queue.first(), Some(&to), "somebody was overtaken");
                    self.queue.remove(0);
                    assert!(!self.leased.contains(&cell), "{cell} was leased twice");
                    if new == Some(cell) {
                        new = None;
                    } else {
                        let idle = self.idle.iter().position(|idle| *idle == cell);
                        self.idle.remove(idle.expect("a given cell was idle or new"));
                    }
                    self.leased.push(cell);
                }
                Action::Destroy { cell } => {
                    if new == Some(cell) {
                        new = None;
                    } else {
                        let idle = self.idle.iter().position(|idle| *idle == cell);
                        self.idle.remove(idle.expect("a destroyed cell was idle or new"));
                    }
                }
                Action::Refuse { whom, .. } => {
                    assert_eq!(self.queue.first(), Some(&whom), "refused out of turn");
                    self.queue.remove(0);
                }
            }
        }
        self.idle.extend(new);
        self.check();
    }

    fn check(&self) {
        let slots = &self.slots;
        let books = (self.idle.len(), self.leased.len(), self.making, self.queue.len());
        assert_eq!(
            (slots.idle(), slots.leased(), slots.making(), slots.waiting()),
            books,
            "the books differ"
        );
        let alive = slots.idle() + slots.leased() + slots.making();
        assert!(slots.making() <= AT_ONCE, "{} are made at once", slots.making());
        assert!(alive <= slots.capacity(), "{alive} cells for a capacity of {}", slots.capacity());
        assert!(slots.waiting() == 0 || slots.idle() == 0, "a caller waits beside an idle cell");
        let full = alive == slots.capacity();
        assert!(
            full || slots.making() >= slots.waiting().min(AT_ONCE) || self.catching_up,
            "a caller waits though there is room, and nothing is made"
        );
        assert!(self.catching_up || slots.missing() == 0, "the stock is short, and nobody sees to it");
        if self.closed {
            assert_eq!((slots.idle(), slots.waiting()), (0, 0), "a closed pool keeps something");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn no_order_of_events_breaks_the_accounts(
        come_back in any::<bool>(),
        stock in numbers(5),
        overflow in numbers(4),
        steps in steps(),
    ) {
        let mut books = Books::new(come_back, stock, overflow);
        for step in steps {
            books.take(step);
        }
        // Whatever happened, an orderly end leaves nothing.
        books.take(Step::Close);
        while books.making > 0 {
            books.take(Step::Made);
        }
        while !books.leased.is_empty() {
            books.take(Step::Spent(0));
        }
        let slots = &books.slots;
        prop_assert_eq!((slots.idle(), slots.leased(), slots.making(), slots.waiting()), (0, 0, 0, 0));
    }
}

#[test]
fn a_run_that_has_just_begun_is_left_alone_unless_the_stock_is_low() {
    let mut slots = Slots::new(4, 8);
    assert_eq!(slots.open(), [Action::Make; 4]);
    for cell in 1..=4 {
        slots.made(CellId::new(cell));
    }
    let give = |ticket, cell| Action::Give { to: Ticket(ticket), cell: CellId::new(cell) };
    assert_eq!(slots.checkout(Ticket(1), Turn::Last), [give(1, 1), Action::MakeSoon]);
    assert_eq!(slots.checkout(Ticket(2), Turn::Last), [give(2, 2)], "one moment is enough for both");
    assert_eq!(slots.checkout(Ticket(3), Turn::Last), [give(3, 3), Action::Make, Action::Make, Action::Make]);
    assert_eq!(slots.spent(CellId::new(1)), []);
    assert_eq!(slots.catch_up(), []);
}

#[test]
fn cells_that_come_back_are_waited_for_a_moment_and_not_doubled() {
    let mut slots = Slots::with_cells_that_come_back(true, 1, 2);
    assert_eq!(slots.open(), [Action::Make]);
    slots.made(CellId::new(1));
    let give = |ticket, cell| Action::Give { to: Ticket(ticket), cell: CellId::new(cell) };
    assert_eq!(slots.checkout(Ticket(1), Turn::Last), [give(1, 1)], "nothing is made in its place");
    assert_eq!(slots.checkout(Ticket(2), Turn::Last), [Action::MakeSoon]);
    assert_eq!(slots.returned(CellId::new(1)), [give(2, 1)]);
    assert_eq!(slots.catch_up(), [], "the one that came back was enough");
    assert_eq!(slots.checkout(Ticket(3), Turn::Last), [Action::MakeSoon]);
    assert_eq!(slots.catch_up(), [Action::Make], "nobody came back in time");
    assert_eq!(slots.spent(CellId::new(1)), [], "one is on its way already, and will be stock");
}

#[test]
fn a_stock_of_any_size_is_made_a_few_at_a_time() {
    let mut slots = Slots::new(usize::MAX, usize::MAX);
    assert_eq!(slots.open(), [Action::Make; AT_ONCE]);
    assert_eq!(slots.checkout(Ticket(1), Turn::Last), []);
    let give = Action::Give { to: Ticket(1), cell: CellId::new(1) };
    assert_eq!(slots.made(CellId::new(1)), [give, Action::Make]);
    assert_eq!(slots.capacity(), usize::MAX);
}

#[test]
fn a_stock_that_was_raised_is_not_lowered_by_the_first_cell() {
    let mut slots = Slots::new(0, 200);
    assert_eq!(slots.set_stock(100), [Action::Make; AT_ONCE]);
    assert_eq!(slots.learn_stock(2), []);
    assert_eq!(slots.made(CellId::new(1)), [Action::Make], "the rest of what was asked for");
    let mut slots = Slots::new(1, 200);
    assert_eq!(slots.open(), [Action::Make]);
    assert_eq!(slots.learn_stock(4), [Action::Make; 3]);
}

#[test]
fn a_slot_that_frees_serves_the_one_who_has_waited_longest() {
    let mut slots = Slots::new(0, 1);
    assert_eq!(slots.checkout(Ticket(1), Turn::Last), [Action::Make]);
    assert_eq!(slots.made(CellId::new(1)), [Action::Give { to: Ticket(1), cell: CellId::new(1) }]);
    assert_eq!(slots.checkout(Ticket(2), Turn::Last), []);
    assert_eq!(slots.checkout(Ticket(3), Turn::Last), []);
    assert_eq!(
        slots.spent(CellId::new(1)),
        [Action::Make],
        "the slot is free, but nothing is made for the waiter"
    );
    assert_eq!(slots.cancel(Ticket(2)), []);
    assert_eq!(slots.made(CellId::new(2)), [Action::Give { to: Ticket(3), cell: CellId::new(2) }]);
}

#[test]
fn who_gives_a_cell_up_for_another_stays_before_those_who_wait() {
    let give = |to, cell| Action::Give { to: Ticket(to), cell: CellId::new(cell) };
    let mut slots = Slots::new(0, 1);
    assert_eq!(slots.checkout(Ticket(1), Turn::Last), [Action::Make]);
    assert_eq!(slots.made(CellId::new(1)), [give(1, 1)]);
    assert_eq!(slots.checkout(Ticket(2), Turn::Last), []);
    assert_eq!(slots.checkout(Ticket(3), Turn::First), []);
    assert_eq!(slots.spent(CellId::new(1)), [Action::Make]);
    assert_eq!(slots.made(CellId::new(2)), [give(3, 2)]);
    assert_eq!(slots.spent(CellId::new(2)), [Action::Make], "and who waits is next");
    assert_eq!(slots.made(CellId::new(3)), [give(2, 3)]);
}
