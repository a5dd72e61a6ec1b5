use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    sync::Arc,
};

use super::{Name, Preferences, QueryFailed, ServiceRecord, Transport, order::MAX_ENDPOINTS};

/// The most names of one chain of aliases, and the most names of services (RFC 9460, section 3.1,
/// asks for a limit).
pub(super) const MAX_NAMES: usize = 8;

/// The answers to the queries for HTTPS records; an error is a query that failed.
pub(super) type HttpsAnswers = HashMap<Name, Result<Vec<ServiceRecord>, QueryFailed>>;

/// What the HTTPS records of an origin say so far.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Services {
    pub(super) state: State,
    /// Those that the client can use, in the order of their priorities.
    pub(super) services: Vec<Service>,
    /// The end of the chain of aliases so far, if there is one.
    pub(super) alias: Option<Name>,
    /// The names whose HTTPS records must be known.
    pub(super) names: Vec<Name>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum State {
    /// There is nothing to ask for, or all has been answered.
    #[default]
    Complete,
    /// An answer is missing.
    Pending,
    /// A query failed.
    Failed,
    /// The records say that there is no service.
    NoService,
}

/// A record in ServiceMode that the client can use.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Service {
    pub(super) target: Name,
    pub(super) record: ServiceRecord,
    pub(super) transports: Vec<Transport>,
    pub(super) ech: Option<Arc<[u8]>>,
}

impl Services {
    /// Follows the aliases from a name as far as the answers reach (RFC 9460, section 3).
    pub(super) fn resolve(
        first: &Name,
        answers: &HttpsAnswers,
        preferences: &Preferences,
        seed: u64,
    ) -> Self {
        let mut resolved = Self::default();
        let mut name = first.clone();
        loop {
            if resolved.names.len() == MAX_NAMES || resolved.names.contains(&name) {
                // As if there were no records.
                resolved.alias = None;
                return resolved;
            }
            resolved.names.push(name.clone());
            resolved.alias = (name != *first).then(|| name.clone());
            let Some(answer) = answers.get(&name) else {
                resolved.state = State::Pending;
                return resolved;
            };
            let Ok(records) = answer else {
                resolved.state = State::Failed;
                return resolved;
            };
            let aliases = records.iter().filter(|it| it.is_alias());
            let Some(alias) = aliases.min_by_key(|it| shuffled(it, seed)) else {
                resolved.services = usable(records, &name, preferences, seed);
                return resolved;
            };
            if alias.target.is_root() {
                resolved.state = State::NoService;
                return resolved;
            }
            name = alias.target.clone();
        }
    }

    /// Whether the client may use these services only: all of them have ECH, and it uses that
    /// (RFC 9848, section 5.1).
    pub(super) fn are_required(&self) -> bool {
        !self.services.is_empty() && self.services.iter().all(|it| it.ech.is_some())
    }
}

/// Returns the services that the client can use, by priority; those of one priority are shuffled.
fn usable(
    records: &[ServiceRecord],
    owner: &Name,
    preferences: &Preferences,
    seed: u64,
) -> Vec<Service> {
    let mut records: Vec<_> = records.iter().collect();
    records.sort_by_cached_key(|record| (record.priority, shuffled(record, seed)));
    let mut services: Vec<Service> = Vec::new();
    let mut names: Vec<Name> = Vec::new();
    for record in records {
        // Each has an endpoint of its own at best.
        if services.len() == MAX_ENDPOINTS {
            break;
        }
        let uses_ech = preferences.uses_ech;
        let transports = record.transports(&preferences.protocols, uses_ech);
        if transports.is_empty() {
            continue;
        }
        let target = match record.target.is_root() {
            true => owner.clone(),
            false => record.target.clone(),
        };
        if !names.contains(&target) {
            if names.len() == MAX_NAMES {
                continue;
            }
            names.push(target.clone());
        }
        services.push(Service {
            target,
            record: record.clone(),
            transports,
            ech: record.ech.clone().filter(|_| uses_ech),
        });
    }
    services
}

/// The place of a record among those of one priority: random, but the same for one seed.
fn shuffled(record: &ServiceRecord, seed: u64) -> u64 {
    let mut hasher = DefaultHasher::new();
    seed.hash(&mut hasher);
    record.hash(&mut hasher);
    hasher.finish()
}
