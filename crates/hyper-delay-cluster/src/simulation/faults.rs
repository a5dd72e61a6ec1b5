//! Faults of nodes, links and the log.

use std::sync::Arc;

use super::{
    FaultSet,
    events::SimulationEvent,
    world::{MILLI, World},
};
use crate::shard::PeerId;

impl World {
    /// Something goes wrong, and again a little later.
    pub(super) fn fault(&mut self) {
        if self.is_calm() {
            return self.repair();
        }
        let node = self.random.usize(0..self.nodes.len());
        let time = match self.random.bool() {
            true => self.random.u64(10..400) * MILLI,
            false => self.random.u64(400..6_000) * MILLI,
        };
        let kind = match self.faults {
            FaultSet::All => self.random.u8(0..10),
            FaultSet::Harmless => *self.random.choice(&[7, 9]).expect("there are two"),
        };
        match kind {
            0 | 1 => self.lose_power(node, time),
            2 => {
                self.end(node);
                self.after(time, SimulationEvent::Start(node));
            }
            3..6 => {
                let until = self.at + time;
                let stopped_until = &mut self.nodes[node].stopped_until;
                *stopped_until = until.max(*stopped_until);
            }
            6 if self.random.bool() => {
                // The last answers before it is cut off are slow.
                self.slow_until[node] = self.at + 1_000 * MILLI;
                self.after(1_000 * MILLI, SimulationEvent::Cut(node, time));
            }
            6 => self.cut_until[node] = self.at + time,
            7 => {
                let links: Vec<PeerId> = self.links.keys().copied().collect();
                if let Some(link) = self.random.choice(links) {
                    self.break_link(link);
                }
            }
            8 => self.log_is_down_until = self.at + time / 2,
            _ => {
                self.hand_over(node);
                let life = self.process_id(node);
                let most = *self.random.choice(&[20, 1_500]).expect("there are two");
                let pause = self.random.u64(0..most) * MILLI;
                self.after(pause, SimulationEvent::End(life));
            }
        }
        self.damage_disk();
        self.fill_disk();
        let pause = self.random.u64(20..3_000) * MILLI;
        self.after(pause, SimulationEvent::Fault);
    }

    /// The machine of a node loses its power, and each space of its stores what it had not synced.
    pub(super) fn lose_power(&mut self, node: usize, time: u64) {
        self.end(node);
        let random = &mut self.random;
        for disk in &mut self.nodes[node].disks {
            *disk = Arc::new(disk.power_loss_by_space(|unsynced| random.usize(0..=unsynced)));
        }
        self.lose_disk(node);
        self.after(time, SimulationEvent::Start(node));
    }

    fn repair(&mut self) {
        self.free_disks();
        self.log_is_down_until = 0;
        self.cut_until.fill(0);
        self.upgrade_all();
    }
}
