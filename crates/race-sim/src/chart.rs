use std::error;

use plotters::prelude::*;

use crate::{Report, Run};

const SIZE: (u32, u32) = (900, 520);

/// The share at which the curves begin.
const HALF: f64 = 0.5;

/// A palette for every kind of colour vision (Okabe and Ito, *Color Universal Design*, 2008).
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(213, 94, 0),
    RGBColor(0, 114, 178),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Draws the share of the requests that take longer than a time, for each report, as an SVG. Both
/// axes are logarithmic. The shares begin at the median, and end where fewer than ten requests of a
/// run are left.
///
/// # Panics
///
/// Panics if no report has twenty requests with a latency above zero.
#[must_use]
pub fn chart(title: &str, reports: &[Report]) -> String {
    let curves: Vec<_> = reports.iter().map(|it| (it.name(), curve(it))).collect();
    assert!(
        curves.iter().any(|(_, curve)| !curve.is_empty()),
        "the chart {title:?} is empty: it needs a report with twenty latencies above zero"
    );
    let mut svg = String::new();
    draw(&mut svg, title, curves).expect("a string can be written to");
    svg
}

/// Latencies in milliseconds with the shares of the requests that take longer.
type Curve = Vec<(f64, f64)>;

fn draw(
    svg: &mut String,
    title: &str,
    curves: Vec<(&str, Curve)>,
) -> Result<(), Box<dyn error::Error>> {
    let points = || curves.iter().flat_map(|(_, curve)| curve);
    let least = points().map(|point| point.0).fold(f64::MAX, f64::min);
    let most = points().map(|point| point.0).fold(0.0, f64::max);
    let rarest = points().map(|point| point.1).fold(HALF, f64::min);
    let area = SVGBackend::with_string(svg, SIZE).into_drawing_area();
    area.fill(&WHITE)?;
    let mut chart = ChartBuilder::on(&area)
        .caption(title, ("sans-serif", 20))
        .margin(12)
        .x_label_area_size(44)
        .y_label_area_size(64)
        .build_cartesian_2d((least..most * 1.1).log_scale(), (rarest..HALF).log_scale())?;
    chart
        .configure_mesh()
        .x_desc("latency, ms")
        .y_desc("share of requests that take longer")
        .x_label_formatter(&|millis| format!("{millis}"))
        .y_label_formatter(&|share| format!("{share}"))
        .light_line_style(TRANSPARENT)
        .label_style(("sans-serif", 14))
        .draw()?;
    for (index, (name, curve)) in curves.into_iter().enumerate() {
        let style = COLOURS[index % COLOURS.len()].stroke_width(2);
        chart
            .draw_series(LineSeries::new(curve, style))?
            .label(name)
            .legend(move |(x, y)| PathElement::new([(x, y), (x + 20, y)], style));
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::LowerLeft)
        .background_style(WHITE.mix(0.8))
        .border_style(BLACK.mix(0.3))
        .label_font(("sans-serif", 14))
        .draw()?;
    area.present()?;
    Ok(())
}

fn curve(report: &Report) -> Curve {
    let rarest = 10.0 / report.median(|run: &Run| run.requests() as f64);
    let shares = (0..).map(|step| HALF * 10_f64.powf(-f64::from(step) / 25.0));
    shares
        .take_while(|share| *share >= rarest)
        .map(|share| {
            let latency = report.percentile(100.0 * (1.0 - share));
            (latency.as_secs_f64() * 1_000.0, share)
        })
        .filter(|(latency, _)| *latency > 0.0)
        .collect()
}
