import type { Migration } from "./migration.ts"

/**
 * Everybody who ever had the right to write to a dataset, its present owner excepted: they may have
 * left something in it. Of earlier times only the grants that are still stored are known.
 */
export const datasetWritersMigration: Migration = {
  version: 17,
  name: "dataset-writers",
  statements: () => [
    "create table dataset_writers (data_id $int not null, user_id $int not null, group_id $int not null, primary key (data_id, user_id, group_id)) $keyed",
    "insert into dataset_writers (data_id, user_id, group_id) select thing_id, user_id, group_id from grants where thing_type = 'data' and access = 'write'",
  ],
}
