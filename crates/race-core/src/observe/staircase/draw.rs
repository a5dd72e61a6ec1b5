use alloc::{
    format,
    string::{String, ToString as _},
};
use core::fmt;

use super::{Staircase, lane::Lane, scale::Scale, text::shorten};
use crate::Moment;

/// The width of the picture, in characters.
const WIDTH: usize = 100;
/// The width of an index and a name together. Longer names are shortened in the middle.
const NAME: usize = 34;
/// The width that is kept free for the outcome of an attempt that runs until the end.
const OUTCOME: usize = 36;

/// The layout of a staircase.
struct Picture<'a> {
    stairs: &'a Staircase,
    /// The width of the widest name.
    names: usize,
    scale: Scale,
}

impl<'a> Picture<'a> {
    fn new(stairs: &'a Staircase) -> Self {
        let lanes = stairs.lanes.iter();
        let names = lanes.map(|(&index, lane)| name(index, lane).chars().count());
        let names = names.max().unwrap_or(0);
        let columns = WIDTH - OUTCOME - names - 1;
        Self {
            stairs,
            names,
            scale: Scale::new(stairs.latest.since(stairs.began), columns),
        }
    }

    fn column(&self, at: Moment) -> usize {
        self.scale.column(at.since(self.stairs.began))
    }

    /// Returns the bar from the left edge to its mark, the outcome as far as it fits behind the
    /// bar, and whether that is the whole outcome.
    fn bar(&self, lane: &Lane) -> (String, String, bool) {
        let (mut bar, mut used) = (String::new(), self.names + 1);
        if let Some(started) = lane.started {
            let ended = lane.ended.map_or(self.stairs.latest, |(at, _)| at);
            let (from, to) = (self.column(started), self.column(ended));
            bar.extend((0..from).map(|_| ' '));
            bar.extend((from..to).map(|_| '━'));
            bar.extend([lane.mark(), ' ']);
            used += to.max(from) + 2;
        }
        let outcome = lane.outcome(self.stairs.began);
        let room = WIDTH - used;
        let short = shorten(&outcome, room, room);
        let is_whole = short == outcome;
        (bar, short, is_whole)
    }
}

fn name(index: usize, lane: &Lane) -> String {
    let index = format!("#{index} ");
    let room = NAME - index.len();
    let name = index + &shorten(&lane.name, room, room / 2);
    name.trim_end().to_string()
}

impl fmt::Display for Staircase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let picture = Picture::new(self);
        let width = picture.names;
        writeln!(f, "{:width$} {}", "", picture.scale.axis())?;
        for (&index, lane) in &self.lanes {
            let (name, (bar, outcome, _)) = (name(index, lane), picture.bar(lane));
            let line = format!("{name:width$} {bar}{outcome}");
            writeln!(f, "{}", line.trim_end())?;
        }
        if f.alternate() {
            for (index, lane) in &self.lanes {
                let (_, _, is_whole) = picture.bar(lane);
                if !is_whole {
                    writeln!(f, "#{index}: {}", lane.outcome(self.began))?;
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
