//! The encoding of a grant for another node: without the proof of its holder, so that no hash
//! leaves this node.

use std::sync::Arc;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{Grant, Right, Routes, grant::Proof};

/// The fields of a [`Grant`] but its proof.
#[derive(Serialize, Deserialize)]
struct ForwardedGrant<Text, Rights, Keys> {
    id: Text,
    name: Text,
    rights: Rights,
    routes: Keys,
    schedules_per_second: Option<u32>,
    pending: Option<u64>,
    pending_bytes: Option<u64>,
}

/// Writes a grant.
///
/// # Errors
///
/// Those of the serializer.
pub fn serialize<S: Serializer>(
    grant: &Option<Arc<Grant>>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let grant = grant.as_deref().map(|grant| ForwardedGrant {
        id: &grant.id,
        name: &grant.name,
        rights: &grant.rights,
        routes: &grant.routes,
        schedules_per_second: grant.schedules_per_second,
        pending: grant.pending,
        pending_bytes: grant.pending_bytes,
    });
    grant.serialize(serializer)
}

/// Reads a grant.
///
/// # Errors
///
/// If it is none.
pub fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Option<Arc<Grant>>, D::Error> {
    let grant = Option::<ForwardedGrant<String, Vec<Right>, Routes>>::deserialize(deserializer)?;
    let grant = grant.map(|grant| {
        Arc::new(Grant {
            id: grant.id,
            name: grant.name,
            rights: grant.rights,
            routes: grant.routes,
            schedules_per_second: grant.schedules_per_second,
            pending: grant.pending,
            pending_bytes: grant.pending_bytes,
            proof: Proof::Elsewhere,
        })
    });
    Ok(grant)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::access::TokenEntry;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Message(#[serde(with = "super")] Option<Arc<Grant>>);

    #[test]
    fn a_grant_travels_without_its_proof() {
        let rights = vec![Right::Schedule, Right::Admin];
        let (entry, secret) = TokenEntry::new("job".into(), rights, vec!["mail*".into()]).unwrap();
        let here = entry.with_rate(Some(5)).with_pending(Some(6), None).grant();
        let encoded = postcard::to_stdvec(&Message(Some(Arc::new(here.clone())))).unwrap();
        let hash = secret.hash().to_hex();
        assert!(matches!(&here.proof, Proof::Token(hash) if *hash == secret.hash()));
        let holds = |part: &[u8]| encoded.windows(part.len()).any(|it| it == part);
        assert!(holds(b"mail*") && !holds(hash.as_bytes()));
        let Message(there) = postcard::from_bytes(&encoded).unwrap();
        let expected = Grant {
            proof: Proof::Elsewhere,
            ..here
        };
        assert_eq!(there.as_deref(), Some(&expected));
        let none = postcard::to_stdvec(&Message(None)).unwrap();
        assert_eq!(postcard::from_bytes(&none), Ok(Message(None)));
    }
}
