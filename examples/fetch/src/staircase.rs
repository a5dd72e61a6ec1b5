//! Draws when each attempt ran: a lane for each mirror, and time from left to right.

use std::{cell::RefCell, fmt::Write as _};

use race::{
    Moment, Timer as _,
    observe::{Event, EventKind},
    web::WebTimer,
};
use web_sys::Element;

/// Sizes in units of the drawing.
const LEFT: f64 = 96.0;
const TOP: f64 = 40.0;
const TIME_WIDTH: f64 = 480.0;
const LANE_HEIGHT: f64 = 40.0;

/// The shortest time that the drawing shows, in milliseconds.
const SHORTEST: f64 = 1_000.0;

pub(crate) struct Staircase {
    svg: Element,
    names: &'static [&'static str],
    /// The clock of the race.
    clock: WebTimer,
    began: Moment,
    lanes: RefCell<Vec<Lane>>,
}

/// An attempt that has started.
struct Lane {
    started: Moment,
    ended: Option<(Moment, EventKind)>,
}

impl Staircase {
    pub(crate) fn new(svg: Element, names: &'static [&'static str]) -> Self {
        let clock = WebTimer::new();
        Self {
            svg,
            names,
            began: clock.now(),
            clock,
            lanes: RefCell::default(),
        }
    }

    /// Takes an event of the race.
    pub(crate) fn record(&self, event: Event) {
        let mut lanes = self.lanes.borrow_mut();
        match event.kind {
            EventKind::Started => lanes.push(Lane {
                started: event.at,
                ended: None,
            }),
            EventKind::Won | EventKind::Failed | EventKind::TimedOut | EventKind::Cancelled => {
                lanes[event.index].ended = Some((event.at, event.kind));
            }
            _ => {}
        }
    }

    /// Draws what has happened so far. Only numbers and our own names become markup.
    pub(crate) fn draw(&self) {
        let (now, lanes) = (self.clock.now(), self.lanes.borrow());
        let running = lanes.iter().any(|lane| lane.ended.is_none());
        let ends = lanes.iter().filter_map(|lane| Some(lane.ended?.0));
        let last = ends.max().filter(|_| !running).unwrap_or(now);
        let span = self.millis(last).max(SHORTEST);
        let x = |at| LEFT + self.millis(at) / span * TIME_WIDTH;

        let mut markup = axis(span, self.names.len());
        for (index, name) in self.names.iter().enumerate() {
            let y = TOP + (index as f64 + 0.5) * LANE_HEIGHT;
            let lane = lanes.get(index);
            let class = lane.map_or("waiting", Lane::class);
            let _ = write!(
                markup,
                "<g class='lane {class}'><text y='{y}'>{name}</text>"
            );
            if let Some(lane) = lane {
                let start = x(lane.started);
                let end = x(lane.ended.map_or(now, |(at, _)| at));
                let (bar, label) = (end.max(start + 1.0), end + 10.0);
                let _ = write!(
                    markup,
                    "<line x1='{start}' x2='{bar}' y1='{y}' y2='{y}'/>\
                     <text class='end' x='{label}' y='{y}'>{}</text>",
                    lane.end()
                );
            }
            markup += "</g>";
        }
        self.svg.set_inner_html(&markup);
    }

    fn millis(&self, at: Moment) -> f64 {
        at.since(self.began).as_secs_f64() * 1_000.0
    }
}

impl Lane {
    /// The class in the style sheet.
    fn class(&self) -> &'static str {
        match self.ended {
            None => "running",
            Some((_, EventKind::Won)) => "won",
            Some((_, EventKind::Cancelled)) => "cancelled",
            Some(_) => "failed",
        }
    }

    /// The text at the end of the bar.
    fn end(&self) -> String {
        match self.ended {
            None => String::new(),
            Some((_, EventKind::Won)) => "● won".to_owned(),
            Some((_, EventKind::Cancelled)) => "╌ cancelled".to_owned(),
            Some((_, kind)) => format!("✗ {kind}"),
        }
    }
}

/// The times above the lanes and a line for each.
fn axis(span: f64, lanes: usize) -> String {
    let step = [200.0, 500.0, 1_000.0, 2_000.0];
    let step = step.into_iter().find(|step| span / step <= 6.0);
    let step = step.unwrap_or(5_000.0);
    let bottom = TOP + lanes as f64 * LANE_HEIGHT;
    let mut markup = String::from("<g class='axis'>");
    let times = (0..).map(|index| f64::from(index) * step);
    for millis in times.take_while(|millis| *millis <= span) {
        let x = LEFT + millis / span * TIME_WIDTH;
        let _ = write!(
            markup,
            "<text x='{x}' y='20'>{millis} ms</text>\
             <line x1='{x}' x2='{x}' y1='{TOP}' y2='{bottom}'/>"
        );
    }
    markup + "</g>"
}
