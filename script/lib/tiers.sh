# Test tiers: groups of tests with the same needs. Each prints its time; the sum of all is the
# script's last line.

results=$cache/test-results
passed=0
failed=0
test_files=()
left_out=()
# From a terminal, Ctrl-C must reach the tests as well.
foreground=$([ ! -t 0 ] || echo --foreground)

# Sets test_files to the files of a tier. A unit test is a file beside the code: it needs neither
# root, Docker nor packages, and runs for a few seconds at most. The word before .test.ts names any
# other tier. Tests in test/ are integration tests unless they have such a word.
find_tests() {
  local special='\.(integration|tools|simulation|postgres|docker|browser|kubernetes|docs|slow|mutants)\.test\.ts$'
  mapfile -t test_files < <(cd "$root" && find src test bench docs -name '*.test.ts' 2>/dev/null | sort | case "$1" in
    layout) grep -xE 'test/(architecture|prose|packages)\.test\.ts' ;;
    unit) grep '^src/' | grep -vE "$special" ;;
    integration) grep -E '^(test|bench|docs)/|\.integration\.test\.ts$' | grep -vE "${special/integration|/}" |
      grep -vxE 'test/(architecture|prose|packages)\.test\.ts' ;;
    *) grep -E "\\.$1\\.test\\.ts\$" ;;
  esac)
}

# Sets test_files to the tier's files, or to those in `only`. Fails when there are none.
choose_tests() {
  find_tests "$1"
  [ ${#only[@]} = 0 ] || select_named "$1"
  [ ${#test_files[@]} -gt 0 ]
}

select_named() {
  local file known=" ${test_files[*]} "
  for file in "${only[@]}"; do
    case "$known" in *" ${file#./} "*) ;; *) die "$file is no test file of the tier $1." ;; esac
  done
  test_files=("${only[@]#./}")
}

# run_tests NAME CONCURRENCY SECONDS: runs test_files, within 2 minutes each test and SECONDS in all.
run_tests() {
  local name=$1 concurrency=$2 limit=$3 status=0 started=$SECONDS report=$results/$1
  : >"$report"
  (cd "$root" && NODE_COMPILE_CACHE=$cache/compiled timeout $foreground --kill-after 20 "$limit" "$node" --test --test-concurrency="$concurrency" --test-timeout="${test_timeout:-120000}" \
    --test-reporter=spec --test-reporter-destination=stdout \
    --test-reporter="$root/script/lib/outcome-reporter.mjs" --test-reporter-destination="$report" "${test_files[@]}" </dev/null) || status=$?
  [ $status != 124 ] && [ $status != 137 ] || echo "fail $name did not end within $limit s" >>"$report"
  [ $status = 0 ] || grep -q '^fail' "$report" || echo "fail $name ended with exit code $status" >>"$report"
  report_tier "$name" "$started" "$report"
}

# Counts one command as one test: run_step NAME COMMAND…
run_step() {
  local name=$1 started=$SECONDS report=$results/$1 outcome=pass; shift
  "$@" </dev/null || outcome=fail
  echo "$outcome $name" >"$report"
  report_tier "$name" "$started" "$report"
}

# Puts small faults into a copy of the tree. A test must fail for each.
run_mutants() {
  local started=$SECONDS report=$results/mutants
  "$node" "$root/script/mutants.ts" "$report" </dev/null || grep -q '^fail' "$report" || echo "fail mutants did not run" >>"$report"
  report_tier mutants "$started" "$report"
}

# Tells at the end that a tier was left out: not_run NAME WHY
not_run() { left_out+=("$1 $2"); }

report_tier() {
  local good bad
  good=$(grep -c '^pass' "$3") || true
  bad=$(grep -c '^fail' "$3") || true
  passed=$((passed + good)) failed=$((failed + bad))
  say "== $1: $good passed, $bad failed, $((SECONDS - $2)) s"
}

report_total() {
  grep -h '^fail' "$results"/* 2>/dev/null | sed 's/^fail/== FAILED/' || true
  [ ${#left_out[@]} = 0 ] || printf '== NOT RUN %s\n' "${left_out[@]}"
  say "$passed passed, $failed failed"
  [ "$failed" = 0 ] && [ "$passed" -gt 0 ]
}
