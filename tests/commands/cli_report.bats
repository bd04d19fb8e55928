load cli_helpers

# page ARGUMENT...: blco report, messages kept in the file messages.
page() {
    "$BLCO" report "$@" 2>messages || { code=$? && cat messages && return $code; }
}

labels() {
    printf '1=%s,2=%s,3=%s' "$DATA"/ucb-admissions.mode{1,2,3}.map
}

# sound PAGE [LINK]: it is XML and HTML, loads nothing, has no scripts, what it shows can be read aloud, and
# its links are its own or match the expression LINK.
sound() {
    command -v python3 >/dev/null || skip "python3 is not installed"
    python3 - "$1" "${2-#c[0-9]+(m[0-9]+)?}" <<'END'
import re, sys, xml.etree.ElementTree as tree
from html.parser import HTMLParser
text = open(sys.argv[1], encoding="utf-8").read()
x = "{http://www.w3.org/1999/xhtml}"
root = tree.fromstring(text)
tags = [e.tag.replace(x, "") for e in root.iter()]
assert not {"script", "img", "link", "iframe", "object", "embed", "base", "form"} & set(tags), tags
for e in root.iter():
    for name, value in e.attrib.items():
        assert not name.startswith("on") and name not in ("src", "style"), (name, value)
        assert name != "href" or re.fullmatch(sys.argv[2], value), value
assert "url(" not in text and "@import" not in text
assert re.sub("xmlns=\"http://www.w3.org/1999/xhtml\"", "", text).count("://") == 0, "a URL"
parent = {child: e for e in root.iter() for child in e}
for t in root.iter(x + "table"): # a wide one scrolls in its own box, not the page
    assert t.get("class") == "facts" or set(parent[t].get("class", "").split()) & {"wide", "mode"}
assert ".wide,.mode{overflow-x:auto}" in text
for t in root.iter(x + "table"):
    assert t.find(x + "caption") is not None and "".join(t.find(x + "caption").itertext()).strip()
for s in root.iter(x + "svg"):
    if s.get("role") == "img":
        assert s.find(x + "title").text and s.find(x + "desc").text
    else:
        assert s.get("aria-hidden") == "true"
ids = [e.get("id") for e in root.iter() if e.get("id")]
assert len(ids) == len(set(ids))
levels = [int(t[1]) for t in tags if re.fullmatch("h[1-6]", t)]
assert levels[0] == 1 and all(b <= a + 1 for a, b in zip(levels, levels[1:])), levels
for e in root.iter():
    assert e.get("href", "#")[0] != "#" or e.get("href", "#")[1:] in ids + [""]
assert not re.search(">-0([.]0*)?<", text), "a zero with a sign"
open_tags = []
class Parser(HTMLParser):
    def handle_starttag(self, tag, attrs):
        open_tags.append(tag)
    def handle_endtag(self, tag):
        assert open_tags.pop() == tag
p = Parser()
p.feed(text)
p.close()
assert not open_tags and "nan" not in re.sub("<[^>]*>", " ", text).split()
END
}

@test "a page with the record of the run and labels" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -o ucb --record ucb.json
    shown=$(fit)
    cp messages messages.cpd
    page ucb --labels "$(labels)"
    [ "$(cat messages)" = "writing: ucb.html" ]
    sound ucb.html
    explained=$(awk -v f="$shown" 'BEGIN { printf "%.1f %% of the squared values", 100 * (1 - (1 - f) ^ 2) }')
    grep -qF "fit $shown (explains $explained) after" messages.cpd
    for part in "<th scope=\"row\">Explained</th><td>$explained" "which explains $explained of ucb-admissions.tns." 'Fit is 1 &#8722; ' \
        'Distance to the best fit, ' '<h1>CP model ucb</h1>' '>2 &#215; 2 &#215; 6<' "<strong>$shown</strong>" ', converged; the last one changed the fit by ' \
        '<h2>Convergence</h2>' '>iteration 1<' '>iteration 12<' '<h3 id="c2">Component 2<span>weight 785.5, explains 39.7 %, 47.3 % lost without it<' \
        '<bdi>department F</bdi>' '<bdi>department</bdi>: all 6 entries' 'Seconds of each stage' 'prefers-color-scheme:dark' '@media print'; do
        grep -qF -- "$part" ucb.html || { echo "not on the page: $part" && return 1; }
    done
    # component 2: men admitted at A and B
    sed -n 's/.*href="#c2">2<.*<td>\(.*\)<\/td><td>\(.*\)<\/td><td>\(.*\)<\/td><\/tr>/\1 \2 \3/p' ucb.html |
        grep -qx '<bdi>admitted</bdi> <bdi>male</bdi> <bdi>department A</bdi>'
}

@test "components come first, then what tells how good the model is, then the run" {
    cpd "$DATA/ucb-admissions.tns" -r 2 --starts 2 -o m --record m.json -q
    page m
    [ "$(grep -o '<h2[^<]*' m.html | sed 's/.*>//' | paste -sd,)" = \
        "Components,Each component,How good is the model?,Agreement of the starts,The run,Convergence,Time" ]
}

@test "numbers and scale are those of the model's files and of top: of counts, of foreign models" {
    # numbers PAGE: component and weight, as top says them
    numbers() { sed -n 's/.*>Component \([0-9]*\)<span>weight \([^<,]*\)[<,].*/component \1, weight \2/p' "$1"; }
    cpd "$DATA/ucb-admissions.tns" -r 2 --loss poisson -o counts --record counts.json -q
    page counts
    diff <(numbers counts.html) <("$BLCO" top counts | awk '/^component/ { printf "%s %s weight %.0f\n", $1, $2, $4 }')
    [ "$(numbers counts.html | awk '{ total += $4 } END { print total }')" -eq 4526 ] # all applicants
    grep -qF 'Columns add up to 1; the weight of a component is the sum of its values over all cells.' counts.html
    printf 'ktensor\n2\n2 2\n2\n1 7\nmatrix\n2\n2 2\n3 1\n4 0\nmatrix\n2\n2 2\n1 0\n0 1\n' >own.ktns
    page own.ktns
    diff <(numbers own.html) <("$BLCO" top own.ktns | grep component)
    grep -qF '<th scope="row">2</th><td class="n">4.000</td>' own.html
    grep -qF 'the columns have no norm in common' own.html
}

# The rules of the page's style for paper that name a selector, as "selector" or ",selector".
paper() { sed -n '/^@media print{/,/^}/p' "$1" | grep -E "(^|,)$2[,{]"; }

@test "on paper: three components a page, no table apart from its head, nothing scrolls" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -o ucb -q
    page ucb
    paper ucb.html '[.]component' | grep -q 'break-inside:avoid'
    paper ucb.html '[.]component' | grep -q 'min-height:7.6cm' # three of A4 and of letter, not four
    for part in h2 h3 caption thead tr:first-child; do paper ucb.html "$part" | grep -q 'break-after:avoid'; done
    for part in table tr figure; do paper ucb.html "$part" | grep -q 'break-inside:avoid'; done
    paper ucb.html '[.]wide table' | grep -q 'break-inside:auto' # a long one may, between rows
    paper ucb.html '[.]wide' | grep -q 'overflow:visible'
    paper ucb.html 'details:not\(\[open\]\)' | grep -q 'display:none'
}

@test "convergence is the distance to the best fit, by powers of ten" {
    printf 'ktensor\n1\n2\n1\n1\nmatrix\n2\n2 1\n1\n0\n' >m.ktns
    record() {
        printf '{"record": "cpd", "tensor": {"lengths": [2]}, "options": {"rank": 1},
            "result": {"fit": 0.9, "change": -0.0}, "trace": {"first_iteration": 10, "every": 10, "fit": [%s]}}' "$1" >m.json
        page m.ktns
        sound m.html
    }
    record '0.5, null, 0.8, 0.91, 0.9, 0.909'
    grep -qF 'Distance to the best fit, 0.91, after each iteration' m.html
    grep -qF 'the best fit, 0.91, is that of iteration 40.' m.html
    for text in iteration\ 10 iteration\ 60 1 10⁻¹ 10⁻² 10⁻³; do grep -qF ">$text</text>" m.html; done
    [ "$(grep -o '<circle' m.html | wc -l)" -eq 4 ] # neither null nor the best fit has a distance
    grep -qF '>Explained</th><td>99.0 % of the squared values</td>' m.html
    for fits in '' 0.9 '0.9, 0.9, null' 'null, "x"'; do
        record "$fits"
        run -1 grep -q Convergence m.html
    done
}

@test "the record is used if it is given, or if it lies in the folder of the model" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -o ucb --record elsewhere.json --format ktns -q
    page ucb -o none.html -q
    grep -q 'none: blco cpd --record FILE writes one' none.html
    run -1 grep -q Convergence none.html
    page ucb --record elsewhere.json -o given.html -q
    cp elsewhere.json ucb.json
    page ucb.ktns -q # the names are made without .ktns
    grep -q Convergence ucb.html
    diff <(sed 's/ucb.ktns/ucb/' ucb.html) given.html
    [ ! -s messages ]
    sound none.html
}

@test "modes are shown by their length and order" {
    awk 'BEGIN { print "ktensor\n2\n300 21\n2\n5 4\nmatrix\n2\n300 2"
                 for (i = 0; i < 300; i++) print sin(i / 30), cos(i / 40)
                 print "matrix\n2\n21 2"; for (i = 0; i < 21; i++) print i % 2 ? 1 : -1, (i * 7) % 5 }' >m.ktns
    page m.ktns -o auto.html
    grep -qF '<figcaption>Mode 1: 300 entries</figcaption>' auto.html
    grep -qF 'Mode 2: the 10 strongest of 21 entries' auto.html
    page m.ktns -o other.html --ordered 2 --top 7
    grep -qF 'Mode 1: the 7 strongest of 300 entries' other.html
    grep -qF '<figcaption>Mode 2: 21 entries</figcaption>' other.html
    page m.ktns -o none.html --ordered none -n 400
    grep -qF '<caption>Mode 2: all 21 entries</caption>' none.html
    grep -qF '<tr><td colspan="3" class="rest">and 5 zeros</td></tr>' none.html
    sound auto.html && sound other.html && sound none.html
}

@test "zeros, and what rounds to zero, share one text line" {
    printf 'ktensor\n3\n6 5 1\n1\n1\nmatrix\n2\n6 1\n0.6\n0\n0\n0.8\n0\n-0\n' >m.ktns
    printf 'matrix\n2\n5 1\n1\n0\n1e-6\n-1e-6\n0\nmatrix\n2\n1 1\n1\n' >>m.ktns
    page m.ktns
    sound m.html
    grep -qF '<td colspan="3" class="rest">and 4 zeros</td>' m.html
    grep -qF '<td colspan="3" class="rest">and 4 below 0.0005</td>' m.html
    [ "$(grep -c '<th scope="row">[0-9]' m.html)" -eq 4 ]
    printf 'ktensor\n2\n3 2\n1\n1\nmatrix\n2\n3 1\n0.6\n-0\n0.8\nmatrix\n2\n2 1\n0\n0\n' >m.ktns
    page m.ktns
    grep -qF '<th scope="row">2</th><td class="n">0'$'\u2008\u2007\u2007\u2007\u2007</td>' m.html # one zero takes one anyway
    grep -qF '<td colspan="3" class="rest">2 zeros</td>' m.html
    sound m.html
}

# A model of two lines: two peaks each, one of them broad, and a bump that is no peak.
peaks() {
    awk 'BEGIN { print "ktensor\n2\n120 2\n2\n5 4\nmatrix\n2\n120 2"
                 for (i = 1; i <= 120; i++)
                     print 9 * exp(-(i - 40) ^ 2 / 99) + 4 * exp(-(i - 90) ^ 2 / 9), 7 * exp(-(i - 60) ^ 2 / 400) - 2 * (i == 110)
                 print "matrix\n2\n2 2\n1 0\n0 1" }' >m.ktns
}

@test "peaks of a line are named, not neighbours of one; axes have inner ticks" {
    peaks
    page m.ktns
    sound m.html
    grep -q '<p>Peaks: 40 ([0-9.]*), 90 ([0-9.]*)</p>' m.html
    grep -q '<p>Peaks: 60 ([0-9.]*), 110 (-[0-9.]*)</p>' m.html
    for number in 20 40 60 80; do grep -qF "text-anchor=\"middle\">$number</text>" m.html; done
    seq -f 'day %.0f' 120 >days
    page m.ktns --labels 1=days
    grep -qF 'text-anchor="middle">day 60</text>' m.html
    grep -q '<p>Peaks: <bdi>day 40</bdi> (' m.html
}

@test "names that ascend make a curve of what is not smooth" {
    awk 'BEGIN { print "ktensor\n2\n30 2\n1\n1\nmatrix\n2\n30 1"; for (i = 0; i < 30; i++) print i % 2
                 print "matrix\n2\n2 1\n1\n0" }' >m.ktns
    page m.ktns
    grep -q 'Mode 1: the 10 strongest of 30 entries' m.html
    seq 200 5 345 >nm
    page m.ktns --labels 1=nm
    grep -q '<figcaption>Mode 1: 30 entries</figcaption>' m.html
    for text in 200 250 300 345; do grep -qE ">$text</text>" m.html; done
    page m.ktns --labels 1=nm --ordered none
    grep -q 'Mode 1: the 10 strongest of 30 entries' m.html
}

@test "an overlay of all components, on one scale, opens on request" {
    peaks
    page m.ktns
    [ "$(grep -c '<details>' m.html)" -eq 1 ] # closed
    grep -qF '<use href="#c1m1" class="k0 d0" transform="matrix(1 0 0 ' m.html
    grep -qF '<use href="#c2m1" class="k1 d1" transform="matrix(1 0 0 ' m.html
    page m.ktns --ordered none -o none.html
    for page in m none; do
        grep -qE '<tr><th scope="row">1</th><td class="n">[01].000</td><td class="bar k0">.*<td class="bar k1">' $page.html
    done
    run -1 grep -q '<use ' none.html # mode 1 is no line here
    sound none.html
    # of many components the first are overlaid; there is nothing to overlay of one
    "$BLCO" generate wide.tns -q --dims 30,4,5 --nnz 60
    cpd wide.tns -r 14 -i 2 -q -o wide
    page wide --ordered 1
    grep -qF '<summary>Overlay: the first 12 components on one scale</summary>' wide.html
    [ "$(grep -o '<use ' wide.html | wc -l)" -eq 12 ]
    sound wide.html
    cpd wide.tns -r 1 -q -o one
    page one
    run -1 grep -q '<details' one.html
}

@test "a label is whole in its tooltip, and its words are not broken" {
    cpd "$DATA/ucb-admissions.tns" -r 1 -o m -q
    long=$(printf 'word%.0s' {1..50})
    printf 'short\n%s\n' "$long" >1.map
    page m --labels 1=1.map
    sound m.html
    grep -qF "<bdi>short</bdi>" m.html
    grep -qF "<bdi title=\"$long\">${long:0:120}…</bdi>" m.html
    run -1 grep -E 'break-all|^(th|td|bdi|h1)[^{]*[{][^}]*anywhere' m.html
    grep -q '^bdi{[^}]*text-overflow:ellipsis' m.html
}

@test "labels, names and records of others are escaped" {
    nasty='<script>alert("1")</script>&amp;'
    printf '1 1 1\n2 2 5\n' >"$(tr -d / <<<"$nasty").tns"
    mv ./*.tns "a'<b>&.tns"
    cpd "a'<b>&.tns" -r 1 -o m --record m.json -q
    printf '%s\n\033[2J\xff\xe2\x80\xae\xef\xbf\xbe\n' "$nasty" >labels
    sed -i 's|"sentence": ".*"|"sentence": "</ul><script>x</script>"|; s|"version": ".*"|"version": "<b>\\u0007\\ufffd"|' m.json
    page m --labels 1=labels
    sound m.html
    label='&lt;script&gt;alert(&quot;1&quot;)&lt;/script&gt;&amp;amp;'
    grep -qF "<bdi title=\"$label\">$label</bdi>" m.html
    grep -qF '<bdi>\x1b[2J\xff\xe2\x80\xae\xef\xbf\xbe</bdi>' m.html
    grep -qF 'a&#39;&lt;b&gt;&amp;.tns' m.html
    grep -qF '&lt;/ul&gt;&lt;script&gt;' m.html
    run -1 grep -q '<script' m.html
}

@test "starts and ranks are shown if the record has them" {
    cpd "$DATA/ucb-admissions.tns" -r 2 --backend host -o m --record m.json -q
    starts='{"seed": 1, "fit": 0.8238, "iterations": 12, "score_with_best": 1},
        {"seed": 2, "fit": 0.8238, "iterations": 9, "score_with_best": 0.25}'
    ranks='{"host": "a<b", "threads": 3, "nonzeros": 14, "communication": 0.5},
        {"host": "c", "gpu": 1, "threads": 3, "nonzeros": 10}'
    { sed '$d' m.json && printf ', "starts": [%s], "ranks": {"count": 2, "each": [%s]}}' "$starts" "$ranks"; } >more.json
    mv more.json m.json
    page m
    sound m.html
    grep -qF '<h2>Agreement of the starts</h2>' m.html
    grep -qF '>2</th><td class="n">9</td><td class="n">0.823800</td><td class="n">0.250000</td>' m.html
    grep -qF '<td>a&lt;b</td>' m.html
    grep -qF ', 2 ranks, backend host' m.html
}

@test "the best of several starts, a start that broke down, and the core consistency" {
    cpd "$DATA/ucb-admissions.tns" -r 2 --starts 3 --core-consistency -o m --record m.json -q
    page m
    sound m.html
    grep -qF '<div class="wide"><table><caption>The model of each start' m.html # as narrow as a phone
    [ "$(grep -o '<strong>the best</strong>' m.html | wc -l)" -eq 1 ]
    grep -qF '<th scope="row">Core consistency</th><td>100.0</td>' m.html
    sed 's/"score_with_best": 1$/"score_with_best": null, "breakdown": "a <b> NaN"/' m.json >broken.json
    cmp -s m.json broken.json && return 1
    mv broken.json m.json
    page m
    sound m.html
    grep -qF '<td colspan="2" class="why">broke down: a &lt;b&gt; NaN</td>' m.html
}

@test "records that lack most, and models of odd numbers" {
    printf 'ktensor\n2\n2 30\n2\n1 0\nmatrix\n2\n2 2\n0 0\n0 0\nmatrix\n2\n30 2\n' >z.ktns
    for ((i = 0; i < 30; i++)); do echo 3 1e-320; done >>z.ktns
    printf '{"record": "cpd", "tensor": {"lengths": [2, 30]}, "options": {"rank": 2}, "result": 7, "seconds": {"stages": {"a": "b"}},
        "findings": [3], "command": {}, "trace": {"fit": [null, 0.5, "x"]}, "starts": [1, 2]}' >z.json
    page z
    page z.ktns -o lines.html --ordered 2
    sound z.html && sound lines.html
}

@test "a page of 64 components of long modes is below 2 MB" {
    "$BLCO" generate big.tns -q --dims 200000,100000,50000 --nnz 20000
    cpd big.tns -r 64 -i 1 -q -o big --format npy
    page big --ordered 1,2,3
    [ "$(stat -c %s big.html)" -lt 2000000 ]
    page big -o top.html --ordered none
    [ "$(stat -c %s top.html)" -lt 2000000 ]
    sound big.html && sound top.html
    [ "$(grep -c 'role="img"' big.html)" -eq 195 ] # a plot for each component and mode, and three overlays
    [ "$(grep -o '<use ' big.html | wc -l)" -eq 36 ]
}

@test "a long run's plot, in few columns" {
    cpd "$DATA/planted.tns" -r 3 -i 5000 --tol 0 -q -o p --record p.json -t 1
    page p
    grep -qF '>iteration 5000<' p.html
    sound p.html
    [ "$(stat -c %s p.html)" -lt 60000 ]
}

@test "the page of a range of ranks: plots, a table, links to the models" {
    "$BLCO" generate -q x.tns --dims 20,25,30 --nnz 15000 --planted-rank 3 --seed 4
    mkdir "o u" else
    cpd x.tns -q -r 2:4 -i 300 --tol 1e-7 --starts 3 -o "o u/m"
    page "o u/m.r3" -q -o alone.html
    page "o u/m"
    [ "$(cat messages)" = "writing: o u/m.html and 3 pages of its models" ]
    cmp alone.html "o u/m.r3.html"
    sound "o u/m.html" '\./m\.r[234]\.(html|mode[123]\.mat|lambda\.mat)'
    [ "$(grep -o '<h2[^<]*' "o u/m.html" | sed 's/.*>//' | tail -1)" = 'The run' ]
    for part in '<h1>Ranks of m</h1>' 'rank 3 is suggested: at least half of the other starts find its model again' '>3, <strong>suggested</strong></th>' \
        '<a href="./m.r3.html">m.r3</a>' '<a href="./m.r4.html">m.r4</a>' '<a href="./m.r2.mode1.mat">m.r2.mode1.mat</a>' \
        '>rank 2<' '>rank 4<' '<title>Fit against rank</title>' '<title>Core consistency against rank</title>' \
        'Starts that agree with the best' 'about 50 is doubtful' '<td class="n">2 of 2</td>'; do
        grep -qF -- "$part" "o u/m.html" || { echo "not on the page: $part" && return 1; }
    done
    [ "$(grep -o 'role="img"' "o u/m.html" | wc -l)" -eq 3 ]
    run ! grep -q 'Not all ranks' "o u/m.html"
    seq 20 >labels
    page "o u/m" -o else/where.html -q --labels 1=labels --top 3 # the models are elsewhere
    sound else/where.html '\./where\.r[234]\.html'
    grep -qF '<a href="./where.r4.html">m.r4</a>' else/where.html
    [ "$(ls else)" = "$(printf '%s\n' where.html where.r{2,3,4}.html)" ]
    grep -qF 'the 3 strongest of 25 entries' else/where.r2.html
    rm "o u"/m.r4.* # a model that is gone has no page
    "$BLCO" report -q "o u/m" -o else/other.html
    sound else/other.html '\./other\.r[23]\.html'
    grep -qF '<code>blco report &#39;o u/m.r4&#39;</code>' else/other.html
    "$BLCO" report -q "o u/m" -o - >out.html
    sound out.html 'no link'
    # all pages or none
    echo 7 >>"o u/m.r3.mode2.mat"
    fails 2 "o u/m.r3.mode2.mat" report "o u/m" -o else/none.html
    run ! ls else/none*
    cpd x.tns -q -r 2:3 -i 3 -o one
    page one -q # one start each
    sound one.html '\./one\.r[23]\..*'
    [ "$(grep -o 'role="img"' one.html | wc -l)" -eq 2 ]
    fails 2 "--labels is for the page of one model, but one has several ranks: one.rR expected" report one --labels 1=x -o -
    fails 2 "--ordered is for the page of one model" report one --ordered 1 -o -
    fails 2 "--top is for the page of one model" report one --top 1 -o -
    fails 2 "--ordered: mode 4, but the model has 3 modes" report one --ordered 4
    fails 2 "the page one.r2.html is a file of labels that is read" report one --labels 1=one.r2.html
    fails 2 "--record is for the page of one model" report one --record x.json
    fails 2 "the page one.ranks.json is the table of ranks that is read" report one -o one.ranks.json
    rm one.ranks.json
    fails 2 "one: no model of that name, but models of several ranks: one.r2 and one.r3" report one
    fails 2 "one: no model of that name, but models of several ranks: one.r2 and one.r3" top one
    fails 2 "no model of that name, but models of several ranks: one.r2 and one.r3" cpd x.tns -q -r 2 --init one -o y
}

@test "a table of ranks that is damaged or hostile" {
    printf '{"record": "ranks", "suggestion": "<script>x</script>", "suggested": 3, "complete": false, "tensor": {"lengths": [1, "x"]},
        "ranks": [{"rank": 2, "failure": "<b> \\u001b[2J"}, {"rank": 3, "fit": 0.99999999999, "core_consistency": -51234.5,
        "core_consistency_error": 3, "other_starts": 2, "agreeing_starts": "x", "files": ["a/\\"><b>:x", 7, "javascript:x"]},
        {"rank": 9007199254740991, "fit": 1e300, "core_consistency": null}]}' >h.ranks.json
    page h
    sound h.html '\./[A-Za-z0-9.%_-]*'
    grep -qF '&lt;script&gt;x&lt;/script&gt;' h.html
    grep -qF 'href="./javascript%3Ax"' h.html
    grep -qF '>1-1.0e-11<' h.html
    grep -qF -- '>-5.1e+04 &#177; 3<' h.html
    grep -qF 'failed: &lt;b&gt; \x1b[2J<' h.html
    grep -q 'Not all ranks were tried' h.html
    for text in '{}' '{"record": "cpd", "ranks": [{"rank": 2}]}' '{"record": "ranks"}' '{"record": "ranks", "ranks": []}' \
        '{"record": "ranks", "ranks": {"a": {"rank": 1}}}'; do
        echo "$text" >h.ranks.json
        fails 2 "h.ranks.json: not the table of a range of ranks" report h
    done
    for rank in 0 1.5 -1 '"2"' 1e17 null; do
        echo "{\"record\": \"ranks\", \"ranks\": [{\"rank\": $rank}]}" >h.ranks.json
        fails 2 "h.ranks.json: a row of the table names no rank" report h
    done
    echo '{' >h.ranks.json
    fails 2 "h.ranks.json:2:1: not JSON" report h
}

@test "the page can go to standard output" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -q --backend host -o m --record m.json
    "$BLCO" report -q m -o page.html
    "$BLCO" report m -o - >out.html 2>messages
    cmp page.html out.html && [ ! -e ./- ]
    grep -q '^writing: standard output' messages
    "$BLCO" report m -o ./- -q && cmp page.html ./-
    run -5 --separate-stderr bash -c '"$BLCO" report -q m -o - >&-'
    [ "$stderr" = "blco report: standard output cannot be written" ]
}

@test "what is refused" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -q -o m --record m.json
    fails 2 "blco report: no model given" report
    fails 2 "one model expected" report a b
    fails 2 "absent" report absent
    fails 2 "r.json" report m --record r.json
    fails 2 "--ordered: '4x', " report m --ordered 4x
    fails 2 "--ordered: '0', expected numbers of modes, from 1 to 16, as 1,3, or none" report m --ordered 0
    fails 2 "--ordered: mode 4, but the model has 3 modes" report m --ordered 4
    fails 2 "--top: '0', expected a whole number from 1 to 1000" report m --top 0
    fails 2 "--labels: '3', expected MODE=FILE" report m --labels 3
    fails 2 "absent.map" report m --labels 3=absent.map
    fails 5 "no/folder/x.html" report m -o no/folder/x.html
    for file in m.mode1.mat m.lambda.mat m.mode9.npy; do
        fails 2 "the page $file is a file of the model that is read" report m -o "$file"
    done
    fails 2 "the page m.json is the record that is read" report m -o m.json
    printf 'a\nb\n' >two.map
    fails 2 "the page two.map is a file of labels that is read" report m --labels 1=two.map -o two.map
    fails 2 "two.map" report m --labels 3=two.map
    echo '{' >r.json
    fails 2 "r.json:2:1: not JSON: string or '}' expected near end of file" report m --record r.json
    printf '{"record": "cpd",\n"record": "cpd"}' >r.json
    fails 2 "r.json:2:8: not JSON: duplicate object key" report m --record r.json
    printf '{"record": "\377"}' >r.json
    fails 2 "r.json:1:13: not JSON: unable to decode byte 0xff" report m --record r.json
    printf '{"record": "\\ud800"}' >r.json
    fails 2 "r.json:1:19: not JSON: invalid Unicode" report m --record r.json
    printf '{"record": 1e999}' >r.json
    fails 2 "r.json:1:16: not JSON: real number overflow" report m --record r.json
    echo '{}' >r.json
    fails 2 "r.json: not a record of blco cpd" report m --record r.json
    "$BLCO" bench "$DATA/ucb-admissions.tns" -q -r 2 --backend host --als --samples 1 --json r.json >table
    fails 2 "r.json: not a record of blco cpd" report m --record r.json
    cpd "$DATA/ucb-admissions.tns" -r 1 -q --nowrite --record r.json
    fails 2 "r.json: the record of another model: lengths or rank are not the model's" report m --record r.json
    cpd "$DATA/matmul-2x2x2.tns" -r 2 -q --nowrite --record r.json
    fails 2 "r.json: the record of another model" report m --record r.json
    [ ! -e m.html ]
}

# cells TABLE: the text of the cells of the first table with this caption in m.html, a row a text line; blanks of figures are
# left out.
cells() {
    python3 - "$1" <<'EOF'
import sys, xml.etree.ElementTree as tree
x = "{http://www.w3.org/1999/xhtml}"
for table in tree.parse("m.html").getroot().iter(x + "table"):
    if "".join(table.find(x + "caption").itertext()) == sys.argv[1]:
        for row in table.iter(x + "tr"):
            print(*("".join(cell.itertext()).strip("\u2007\u2008") for cell in row), sep="\t")
        break
EOF
}

@test "residuals of a tensor: what predict says, with names" {
    cpd "$DATA/ucb-admissions.tns" -r 2 -q -o m
    page m --residuals "$DATA/ucb-admissions.tns" --labels "$(labels)" -n 3
    sound m.html
    cells "Strangest entries" >got
    "$BLCO" predict m "$DATA/ucb-admissions.tns" -q --residuals -n 3 --labels none --labels "$(labels)" |
        sed -n '/^strangest entries/,/^$/{/^  rej/p;/^  adm/p}' | sed 's/^ *//; s/   *\([^ ]\)/\t\1/g' | diff - <(tail -n +2 got)
    [ "$(head -1 got)" = $'admission\tgender\tdepartment\tValue\tModel\tResidual' ]
    [ "$(wc -l <got)" -eq 4 ]
    [ "$(cells "department: the largest sums of squared residuals" | wc -l)" -eq 4 ]
    grep -q 'Squares assume no distribution' m.html
    [ "$(grep -c 'Calibration' m.html)" -eq 0 ]
    # without the option, none of it is there
    page m -o plain.html
    [ "$(grep -c 'esidual' plain.html)" -eq 0 ]
}

@test "residuals of counts: both tails, absent cells, a calibration that is a diagonal" {
    "$BLCO" generate -q x.tns --dims 40,30,24 --planted-rank 3 --poisson 3 --nnz 20000
    awk '/^2 28 9 / { $4 = 40 } !/^39 21 21 /' x.tns >odd.tns
    cpd odd.tns -r 3 -q --loss poisson -o m
    page m --residuals odd.tns -n 4
    sound m.html
    grep -q '2 of 28800 cells have an adjusted p of at most 0.05' m.html
    [[ $(cells "Strangest entries" | sed -n 2p) == $'2\t28\t9\t40.000\t'* ]]
    [[ $(cells "Strangest unlisted entries" | sed -n 2p) == $'39\t21\t21\t'* ]]
    [ "$(cells "Strangest unlisted entries" | wc -l)" -eq 5 ]
    distance() { grep -o 'diagonal is [0-9.]*, of [0-9]* counts; by chance it exceeds [0-9.]*' m.html | tr -dc '0-9. \n'; }
    read -r found count chance < <(distance)
    awk -v a="$found" -v n="$count" -v b="$chance" 'BEGIN { exit !(n == 9946 && a < 1.3 * b) }'
    # counts that vary more than their rates say
    awk '{ $4 = NR % 2 ? 2 * $4 : int($4 / 2) } $4 > 0' x.tns >wild.tns
    page m --residuals wild.tns
    read -r found count chance < <(distance)
    awk -v a="$found" -v b="$chance" 'BEGIN { exit !(a > 4 * b) }'
    # unlisted entries that are unknown
    page m --residuals odd.tns --unlisted unknown
    grep -q '1 of 9946 cells has an adjusted p' m.html
    [ "$(grep -c 'unlisted entries' m.html)" -eq 0 ]
    grep -q 'own probability.</p>' m.html
    # zero-based arrays and text are numbered from 1, as the rest of the page is
    awk '{ print $1 - 1, $2 - 1, $3 - 1, $4 }' odd.tns >zero.tns
    page m --residuals zero.tns --index-base 0 -n 4
    [[ $(cells "Strangest entries" | sed -n 2p) == $'2\t28\t9\t40.000\t'* ]]
    page m --residuals - -n 4 -o - <odd.tns >stdin.html
    page m --residuals odd.tns -n 4
    cmp <(sed 's/Residuals of [^<]*//' stdin.html) <(sed 's/Residuals of [^<]*//' m.html)
}

@test "residuals for each model of a range, and what is refused" {
    cpd "$DATA/ucb-admissions.tns" -r 1:2 -q --loss poisson -o m
    page m --residuals "$DATA/ucb-admissions.tns" --unlisted unknown
    for rank in 1 2; do
        sound "m.r$rank.html"
        grep -q '24 cells' "m.r$rank.html"
    done
    [ "$(grep -c 'Strangest' m.html)" -eq 0 ]
    rm m*.html
    fails 2 "--residuals is for the page of one model, but m has several ranks: m.rR expected" \
        report m --residuals "$DATA/ucb-admissions.tns" -o -
    fails 2 "--residuals -: is read for each rank, expected the name of a file" report m --residuals -
    for option in "--loss poisson" "--unlisted zero" "--index-base 0" "--match index"; do
        # shellcheck disable=SC2086 # two words
        fails 2 "${option% *} needs --residuals; try blco report --help" report m.r2 $option
    done
    fails 2 "--host-memory: only with --residuals" report m.r2 --host-memory 1G
    cp "$DATA/ucb-admissions.tns" x.tns
    fails 2 "the page x.tns is the tensor that is read" report m.r2 --residuals x.tns -o x.tns
    fails 2 "--unlisted: only with another --loss than squares" report m.r2 --residuals x.tns --loss squares --unlisted zero
    echo '1 1 1 -3' >x.tns
    fails 2 "x.tns: the value -3 is negative; --loss poisson is for counts (at coordinates 1 1 1)" report m.r2 --residuals x.tns --match index -q
    fails 2 "absent.tns: No such file or directory" report m.r2 --residuals absent.tns
    [ -z "$(find . -name '*.html')" ]
}
