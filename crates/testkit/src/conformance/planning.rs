//! Plans: right where a wish makes sense, and cheap to refuse where it does not.

use amq::{BuildError, Descriptor, Kind, Plan, Spec, SpecError, Target};
use amq_bits::counting::{is_installed, measure};

use super::case::{Case, Failure, Outcome, ensure};
use crate::keys::digests;

/// Scratch memory that a prediction may take for a moment, in bytes: a law over the probes or over the keys of a block, never a table.
const SCRATCH: u64 = 256 << 10;

/// Plans the case's spec; planning must keep no memory, and take no more than scratch.
fn plan(case: &Case<'_>) -> Result<Result<Plan, SpecError>, Failure> {
    ensure!(case, is_installed(), "the counting allocator is not installed, nothing can be measured");
    let (plan, usage) = measure(|| (case.descriptor.plan)(&case.spec));
    ensure!(case, usage.live == 0, "planning keeps {} bytes", usage.live);
    ensure!(case, usage.peak <= SCRATCH, "planning took {} bytes", usage.peak);
    Ok(plan)
}

/// What holds for every plan, whatever the wish.
fn check_plan(case: &Case<'_>, plan: &Plan) -> Outcome {
    let capacity = case.spec.capacity();
    ensure!(case, plan.capacity == capacity, "the plan is for {} keys", plan.capacity);
    ensure!(case, (0.0..=1.0).contains(&plan.fpr), "the predicted rate is {}", plan.fpr);
    ensure!(case, plan.alpha.is_finite() && plan.alpha >= 0.0, "the planned load is {}", plan.alpha);
    ensure!(case, plan.slots > 0 || capacity == 0, "no slots for {capacity} keys");
    let (lowest, highest) = case.descriptor.r;
    ensure!(case, (lowest..=highest).contains(&plan.r), "r = {} is not in {lowest} to {highest}", plan.r);
    ensure!(case, plan.k.is_none_or(|k| (1..=64).contains(&k)), "k = {:?}", plan.k);
    match case.spec.target() {
        Target::Fpr(fpr) => {
            let most = highest_rate(case, fpr, plan);
            ensure!(case, plan.fpr <= most, "the predicted rate {:?} is above {fpr:?}", plan.fpr);
        }
        Target::Shape { alpha, r } => {
            ensure!(case, plan.r == r, "r = {} instead of {r}", plan.r);
            let close = (plan.alpha / alpha - 1.0).abs() < 0.01;
            ensure!(case, close || capacity < 1_000, "the load {} instead of {alpha}", plan.alpha);
        }
        Target::BitsPerKey(bits) => {
            // What one table has beyond its keys: the rest of a block and padding. No keys, no bits a key.
            let limit = bits * capacity as f64 + 1_024.0;
            let payload = plan.payload_bits();
            ensure!(
                case,
                payload as f64 <= limit || capacity == 0,
                "{payload} payload bits for {bits} bits a key"
            );
        }
    }
    Ok(())
}

/// The highest rate that may be predicted where `fpr` was asked for: `fpr`, up to rounding.
///
/// Bloom filters are sized by the customary formula (9,586 bits and 7 probes for 1,000 keys at 1 %), which leaves out that k is
/// whole, up to 3.7 %, and that the mean of a power is above the power of the mean. At half-full positions the variance of
/// their number makes that a factor of about exp(k/(9 n)), which a whole number of positions makes worse for a few keys.
fn highest_rate(case: &Case<'_>, fpr: f64, plan: &Plan) -> f64 {
    let factor = match case.descriptor.kind {
        Kind::Bloom => {
            let keys = case.spec.capacity().max(1) as f64;
            1.04 * (f64::from(plan.k.unwrap_or(0) + 2) / (8.0 * keys)).exp()
        }
        Kind::Table | Kind::Static => 1.0 + 1e-9,
    };
    // The second term is a step of the smallest numbers.
    fpr * factor + 1e-322
}

const RATES: [f64; 16] = [
    0.0,
    -0.0,
    1e-320,
    1e-300,
    1e-12,
    1e-9,
    0.01,
    0.05,
    0.393,
    0.5,
    0.999,
    1.0,
    1.5,
    -1.0,
    f64::NAN,
    f64::INFINITY,
];

/// For ordinary wishes there is a plan, it is what was asked for, and it can be built. For 2^40 keys it is the plan of fewer
/// keys, only larger.
///
/// # Errors
/// The first failure.
pub fn plans_are_sane(descriptor: &Descriptor) -> Outcome {
    let (lowest, highest) = descriptor.r;
    let alpha = if descriptor.kind == Kind::Bloom { 1.0 } else { 0.5 };
    for capacity in [0, 1, 2, 4, 8, 100, 1_000, 12_345, 1_000_000, 1 << 33, 1 << 40] {
        let fpr = [0.5, 0.393, 0.05, 0.01, 1e-3, 1e-6].map(|fpr| Spec::fpr(fpr, capacity));
        let bits = [12.0, 20.0].map(|bits| Spec::bits_per_key(bits, capacity));
        let shapes = [lowest, 8.clamp(lowest, highest)].map(|r| Spec::shape(alpha, r, capacity));
        for spec in fpr.into_iter().chain(bits).chain(shapes) {
            let case = Case::new(descriptor, "plans are sane", capacity, spec);
            match plan(&case)? {
                // A number of bits may be out of the family's range, as long as the error tells the truth about that.
                Err(SpecError::BitsPerKey { bits, lowest, highest }) if bits <= lowest || bits > highest => {}
                Err(error) => return Err(case.fail(format!("there is no plan: {error}"))),
                Ok(plan) => check_plan(&case, &plan)?,
            }
        }
    }
    for fpr in [0.01, 1e-3] {
        let bits = |capacity| -> Result<f64, Failure> {
            let case = Case::new(descriptor, "plans are sane", capacity, Spec::fpr(fpr, capacity));
            let plan = plan(&case)?.map_err(|error| case.fail(format!("there is no plan: {error}")))?;
            plan.bits_per_key().ok_or_else(|| case.fail("no bits a key"))
        };
        let (few, many) = (bits(1 << 24)?, bits(1 << 40)?);
        let case = Case::new(descriptor, "plans are sane", 1 << 40, Spec::fpr(fpr, 1 << 40));
        ensure!(case, (many / few - 1.0).abs() < 0.05, "{many} bits a key, but {few} for 2^24 keys");
    }
    Ok(())
}

/// Wishes out of any range get a typed error that names the number, from the planner and from the builder, without a panic
/// and without a table allocated. Whatever does get a plan is built and keeps its keys, where it is small.
///
/// # Errors
/// The first failure.
pub fn absurd_specs_are_refused_for_free(descriptor: &Descriptor) -> Outcome {
    let mut wishes: Vec<Target> = RATES.map(Target::Fpr).into();
    wishes.extend([0.0, -1.0, 1e-3, 1.0, 64.0, 1e300, f64::NAN, f64::INFINITY].map(Target::BitsPerKey));
    for alpha in [0.0, -0.0, -0.5, 1e-300, 0.5, 1.0, 2.0, 1e300, f64::NAN, f64::INFINITY] {
        for r in [0, descriptor.r.0, 8, descriptor.r.1, descriptor.r.1.saturating_add(1), 255, u32::MAX] {
            wishes.push(Target::Shape { alpha, r });
        }
    }
    for capacity in [0, 1, 100, 1 << 40, u64::MAX / 64, u64::MAX - 1, u64::MAX] {
        for &target in &wishes {
            let spec = Spec::new(target, capacity).with_seed(3);
            let case = Case::new(descriptor, "absurd specs are refused for free", capacity, spec);
            match plan(&case)? {
                Ok(plan) => check_accepted(&case, &plan)?,
                Err(error) => check_refused(&case, error)?,
            }
        }
    }
    Ok(())
}

fn check_accepted(case: &Case<'_>, plan: &Plan) -> Outcome {
    let (lowest, highest) = case.descriptor.r;
    let sensible = match case.spec.target() {
        Target::Fpr(fpr) => fpr > 0.0 && fpr < 1.0,
        Target::Shape { alpha, r } => alpha > 0.0 && alpha.is_finite() && (lowest..=highest).contains(&r),
        Target::BitsPerKey(bits) => bits > 0.0 && bits.is_finite(),
    };
    ensure!(case, sensible, "there is a plan: {plan:?}");
    check_plan(case, plan)?;
    if case.spec.capacity() <= 100 && plan.table_bytes < 1 << 20 {
        let members = digests(case.spec.capacity(), 3);
        match case.try_build(&members) {
            Ok(filter) => case.check_members(&*filter, &members, "after the build")?,
            Err(BuildError::Spec(error)) => return Err(case.fail(format!("planned, but not built: {error}"))),
            Err(_) => {}
        }
    }
    Ok(())
}

fn check_refused(case: &Case<'_>, error: SpecError) -> Outcome {
    let named = match case.spec.target() {
        Target::Fpr(fpr) => format!("{fpr:?}"),
        Target::Shape { alpha, r } => match error {
            SpecError::Remainder { .. } => r.to_string(),
            _ => format!("{alpha:?}"),
        },
        Target::BitsPerKey(bits) => format!("{bits:?}"),
    };
    let text = error.to_string();
    let capacity = case.spec.capacity().to_string();
    ensure!(
        case,
        text.contains(&named) || text.contains(&capacity),
        "the error names no number asked for: {text}"
    );
    let (result, usage) = measure(|| case.try_build(&digests(0, 0)).map(drop));
    let same = matches!(result, Err(BuildError::Spec(built)) if format!("{built:?}") == format!("{error:?}"));
    ensure!(case, same, "the plan says {error:?}, the build {result:?}");
    ensure!(case, usage.peak <= SCRATCH, "refusing to build took {} bytes", usage.peak);
    Ok(())
}
