use serde_json::json;

use crate::fake::Fake;

#[tokio::test]
async fn stats_are_read_and_what_is_missing_is_none() {
    let (_fake, mut peer, client) = Fake::with_client().await;
    let answer = async {
        let line = peer.expect("stats").await;
        assert_eq!(
            (&line["route_key"], &line["after"]),
            (&json!("r"), &json!("q"))
        );
        let tag = &line["tag"];
        peer.send(&format!(
            r#"{{"kind":"stats","tag":{tag},"waiting":5,"dead":null,"routes":[{{"route_key":"r","waiting":5,"consumers":2}}],"more":true}}"#
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
            r#"{{"kind":"dead","tag":{tag},"route_key":"r","tasks":[{{"id":"a","fire_at":1,"attempt":3,"died_at":9}}],"more":false}}"#
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
        assert!(client.kick("r", &letter.id).await.unwrap());
    };
    tokio::join!(ask, answer);
}
