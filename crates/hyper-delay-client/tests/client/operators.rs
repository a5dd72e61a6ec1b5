use serde_json::json;

use crate::fake::Fake;

#[tokio::test]
async fn stats_are_read_and_missing_fields_are_0() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("stats").await;
        assert_eq!(
            (&line["route_key"], &line["after"]),
            (&json!("r"), &json!("q"))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"stats","tag":{tag},"waiting":5,"dead":null,"routes":[{{"route_key":"r","waiting":5,"consumers":2,"orphaned":true}},{{"route_key":"s"}}],"orphaned":3,"more":true}}"#
        ))
        .await;
    };
    let asked = client.stats().route("r").after("q").into_future();
    let (stats, ()) = tokio::join!(asked, answer);
    let stats = stats.unwrap();
    assert_eq!((stats.waiting, stats.dead, stats.more), (5, 0, true));
    assert_eq!(
        (stats.routes[0].route.as_str(), stats.routes[0].consumers),
        ("r", 2)
    );
    assert_eq!(stats.orphaned, 3);
    let orphaned = |index: usize| stats.routes[index].orphaned;
    assert_eq!((orphaned(0), orphaned(1)), (true, false));
    let text = serde_json::to_value(&stats).unwrap();
    assert_eq!(text["routes"][0]["orphaned"], json!(true));
    assert!(text["routes"][1].get("orphaned").is_none(), "{text}");
}

#[tokio::test]
async fn dead_letters_are_listed_and_kicked() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("dead").await;
        assert_eq!(
            (&line["route_key"], &line["limit"]),
            (&json!("r"), &json!(10))
        );
        assert_eq!(line["after"], "z");
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"dead","tag":{tag},"route_key":"r","tasks":[{{"id":"a","fire_at":1,"attempt":3,"died_at":9}},{{"id":"b","fire_at":1,"attempt":0,"died_at":0,"reason":"bad block","orphaned":true}}],"more":false}}"#
        ))
        .await;
        let line = peer.expect("kick").await;
        assert_eq!(
            (&line["route_key"], &line["id"]),
            (&json!("r"), &json!("a"))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"kicked","tag":{tag},"id":"a","found":true}}"#
        ))
        .await;
    };
    let ask = async {
        let letters = client.dead("r").limit(10).after("z").await.unwrap();
        let letter = &letters.tasks[0];
        assert_eq!(
            (letter.id.as_str(), letter.attempt, letter.died_at_millis),
            ("a", 3, 9)
        );
        assert!(letter.died_at().is_some() && letter.reason.is_none() && !letter.orphaned);
        let orphan = &letters.tasks[1];
        assert_eq!(orphan.reason.as_deref(), Some("bad block"));
        assert!(orphan.orphaned && orphan.died_at().is_none());
        let text = serde_json::to_value(&letters.tasks).unwrap();
        assert_eq!(
            text[0],
            json!({"id": "a", "fire_at": 1, "attempt": 3, "died_at": 9})
        );
        assert_eq!(text[1]["orphaned"], json!(true));
        assert!(client.kick("r", &letter.id).await.unwrap());
    };
    tokio::join!(ask, answer);
}
