// The images that every server is filled with: 20 users hold the long ones (2 KB of Doc), 20 others
// the short ones.
const words = "train model data batch loss layer epoch kernel graph tensor notebook image volume mount dataset gradient".split(" ")
const text = (seed, length) => {
  let s = ""
  for (let i = seed; s.length < length; i += 7) s += `${words[i % words.length]} `
  return s.slice(0, length)
}
export const usersPerSet = 20
export const userName = (set, i) => `${set}${String(i % usersPerSet).padStart(2, "0")}`
export function imageBody(set, i, docLength = set === "long" ? 2048 : 60) {
  return {
    Name: `${set} image ${i}`,
    Image: `registry.example.com/team/image-${i}:1.0`,
    Comment: text(i, 60),
    Command: `serve --port {port} --seed ${i}`,
    Env: `SEED=${i}\nMODE=train`,
    Port: "8888",
    UserName: userName(set, i),
    IsPublished: i % 2 === 0,
    Doc: `# Image ${i}\n${text(i * 3, docLength)}`,
  }
}
