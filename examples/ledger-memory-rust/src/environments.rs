//! Prebuilt snapshots by name.

use crate::store::Store;
use alineo::column::environment;
use alineo::table::Writer;
use alineo::{Environment, Error, RowsReply, Value};

pub fn get(store: &Store, name: &str) -> Result<Environment, Error> {
    store.environments.get(name).cloned().ok_or_else(|| Error::not_found(format!("there is no environment {name:?}")))
}

pub fn save(store: &mut Store, env: Environment) -> Result<(), Error> {
    store.environments.insert(env.name.clone(), env);
    Ok(())
}

pub fn delete(store: &mut Store, name: &str) -> Result<(), Error> {
    store.environments.remove(name);
    Ok(())
}

pub fn list(store: &Store) -> Result<RowsReply, Error> {
    let mut list: Vec<&Environment> = store.environments.values().collect();
    list.sort_by_key(|env| std::cmp::Reverse(env.built_at));
    let mut page = Writer::new(environment::COLUMNS);
    for env in list {
        page.row(&[
            env.name.as_str().into(),
            env.snapshot_id.as_str().into(),
            env.image.as_str().into(),
            Value::Int(env.built_at),
        ]);
    }
    Ok(RowsReply { table: page.finish(), ..RowsReply::default() })
}
