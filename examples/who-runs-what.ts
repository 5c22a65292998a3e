// Prints every live run that the caller may see: person, project, state, address.
import { connect, print } from "./connect.ts"

const client = connect()
for (let page = 1, pageCount = 1; page <= pageCount; page += 1) {
  const list = await client.listRuns({ query: { page, pageSize: 200 } })
  for (const { UserName: person, Project: project, State: state, URL: url } of list.data) {
    // A project that the caller may not see is its ID alone.
    print([person, "ProjectName" in project ? project.ProjectName : project.ID, state, url].join("\t"))
  }
  pageCount = list.pageCount
}
