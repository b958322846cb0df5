#include "app/runs/gather.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "app/runs/check_run.h"
#include "app/runs/claim.h"
#include "app/runs/pack.h"
#include "app/runs/robust.h"
#include "formats/json.h"

namespace assay::runs {
namespace {

namespace fs = std::filesystem;

// A line of some folder.
struct FoundLine {
  std::size_t source = 0, line = 0;
  std::string eps, text, certificate, follows_from;
};
// The lines of a folder about an item or an instance, by radius.
using Group = std::map<std::string, FoundLine>;

// The questions of a run's claim, as far as the claim tells them without its files. A line about anything else would make a check
// reject the whole.
class Asked {
 public:
  static Outcome<Asked> of(const Json& manifest) {
    const Json claim = member_of(manifest, "claim");
    Asked asked;
    asked.kind_ = text_of(manifest, "kind");
    asked.count_ = asked.is_robust() ? count_of(manifest, "items") : count_of(claim, "instances");
    if (asked.is_robust()) {
      asked.request_ = request_of(claim);
      auto radii = radii_of(asked.request_);
      if (!radii) return radii.rejection();
      asked.radii_.insert(radii.value().texts.begin(), radii.value().texts.end());
    }
    if (const std::string items = text_of(claim, "items"); !items.empty()) {
      auto ranges = ranges_of(items, asked.count_);
      if (!ranges) return ranges.rejection();
      asked.ranges_ = std::move(ranges).value();
    }
    return asked;
  }

  [[nodiscard]] bool asks(const Json& result) const {
    const std::int64_t item = whole_of(result, is_robust() ? "item" : "instance", -1);
    if (item < 0 || !is_answer(kind_, text_of(result, "answer")) || !has(static_cast<std::size_t>(item))) return false;
    return is_robust() ? radii_.contains(text_of(result, "eps")) : text_of(result, "follows_from").empty();
  }
  [[nodiscard]] std::size_t item_of(const Json& result) const { return count_of(result, is_robust() ? "item" : "instance"); }
  [[nodiscard]] std::string radius_of(const Json& result) const { return is_robust() ? text_of(result, "eps") : ""; }

 private:
  [[nodiscard]] bool is_robust() const { return kind_ == "robust"; }
  [[nodiscard]] bool has(std::size_t item) const {
    if (item >= count_) return false;
    if (!ranges_.empty()) return std::ranges::any_of(ranges_, [item](const auto& one) { return one.first <= item && item <= one.second; });
    return item % request_.every == 0 && (request_.first == 0 || item / request_.every < request_.first);
  }

  std::string kind_;
  std::size_t count_ = 0;
  RobustRequest request_;  // of a data set
  std::set<std::string> radii_;
  Ranges ranges_;  // none: all
};

bool says_the_same(const Group& some, const Group& all) {
  return std::ranges::all_of(some, [&all](const auto& one) {
    const auto found = all.find(one.first);
    return found != all.end() && found->second.text == one.second.text;
  });
}

bool has_certificate(const std::string& folder, const std::string& digest) {
  const auto kept = digest.size() == 64 ? KeptCertificate::find(folder, digest) : std::nullopt;
  return kept && file_digest(kept->path()) == digest;
}

class Gathering {
 public:
  Gathering(std::vector<std::string> folders, Asked asked, Gathered& gathered)
      : folders_(std::move(folders)), asked_(std::move(asked)), gathered_(gathered) {}

  // Reads the lines of a folder beside the others. A line is left out if it is there already, if its certificate is not there, or
  // if it answers no question.
  Outcome<Done> read(std::size_t source) {
    std::map<std::size_t, Group> groups;
    auto read = for_each_result(folders_[source], [&](std::size_t line, const Json& result) {
      if (result.is_null()) return;
      if (!asked_.asks(result)) {
        ++gathered_.left_out;
        return;
      }
      FoundLine entry{source,
                      line,
                      asked_.radius_of(result),
                      result.dump(-1, ' ', false, Json::error_handler_t::replace),
                      text_of(result, "certificate"),
                      text_of(result, "follows_from")};
      const bool lost = !entry.certificate.empty() && !is_known(entry, result) && !has_certificate(folders_[source], entry.certificate);
      if (lost || !groups[asked_.item_of(result)].emplace(entry.eps, entry).second) ++gathered_.left_out;
    });
    for (auto& [item, group] : groups) items_[item].push_back(std::move(group));
    if (!read) return read.rejection();
    return Done{};
  }

  // For each item what one folder says, and that of others beside it. Where they differ, what a check accepts goes first.
  Outcome<std::vector<FoundLine>> chosen(const check::LoadOptions& load, const std::stop_token& stop) {
    std::set<std::size_t> differing;
    for (auto& [item, groups] : items_) {
      Group& best = groups.front();
      for (Group& group : groups) {
        if (&group != &best && says_the_same(best, group)) std::swap(best, group);
      }
      if (!std::ranges::all_of(groups, [&best](const Group& group) { return says_the_same(group, best); })) differing.insert(item);
    }
    if (auto decided = decide(differing, load, stop); !decided) return decided.rejection();
    std::vector<FoundLine> entries;
    for (auto& [item, groups] : items_) {
      Group& best = groups.front();
      for (const Group& group : groups) {
        gathered_.twice += &group == &best ? 0 : group.size();
        for (const auto& [eps, entry] : group) best.emplace(eps, entry);
      }
      // Without the line from which it follows, perhaps for want of a certificate, a line shows nothing.
      gathered_.left_out += std::erase_if(
          best, [all = best](const auto& one) { return !one.second.follows_from.empty() && !all.contains(one.second.follows_from); });
      for (const auto& [eps, entry] : best) entries.push_back(entry);
    }
    std::ranges::sort(entries,
                      [](const FoundLine& a, const FoundLine& b) { return std::pair(a.source, a.line) < std::pair(b.source, b.line); });
    return entries;
  }

 private:
  // Returns true if the line is in the gathering folder already, whose certificates were looked at when they came.
  [[nodiscard]] bool is_known(const FoundLine& entry, const Json& result) const {
    if (entry.source == 0) return KeptCertificate::find(folders_.front(), entry.certificate).has_value();
    const auto there = items_.find(asked_.item_of(result));
    if (there == items_.end()) return false;
    const Group& group = there->second.front();
    const auto same = group.find(entry.eps);
    return same != group.end() && same->second.source == 0 && same->second.text == entry.text;
  }

  // Of the items about which folders differ only what a check accepts stays, or says undecided, the most first.
  Outcome<Done> decide(const std::set<std::size_t>& differing, const check::LoadOptions& load, const std::stop_token& stop) {
    if (differing.empty()) return Done{};
    std::set<std::pair<std::size_t, std::size_t>> accepted, undecided;
    for (std::size_t source = 0; source < folders_.size(); ++source) {
      RunCheckRequest request;
      request.load = load;
      request.allow_vacuous = true;  // a check of the whole run says whether they count
      request.only = [&differing](std::int64_t item) { return item >= 0 && differing.contains(static_cast<std::size_t>(item)); };
      request.on_checked = [&](const CheckedResult& one) { (one.accepted ? accepted : undecided).emplace(source, one.line); };
      if (const auto checked = check_run(folders_[source], request, stop, nullptr); !checked)
        return Rejection{Rejection::Kind::malformed,
                         "gather.differ",
                         folders_[source] + ", item " + std::to_string(*differing.begin()),
                         "the same results in all parts, or files by which a check decides between them",
                         checked.rejection().to_text(),
                         "name the parts to be believed, or go where the files of the run are"};
    }
    for (const std::size_t item : differing) {
      std::vector<Group>& groups = items_[item];
      for (Group& group : groups) {
        gathered_.left_out += std::erase_if(group, [&](const auto& one) {
          const std::pair place(one.second.source, one.second.line);
          return !accepted.contains(place) && !undecided.contains(place);
        });
      }
      const auto count = [&](const Group& group) {
        return std::ranges::count_if(group, [&](const auto& one) { return accepted.contains({one.second.source, one.second.line}); });
      };
      std::ranges::stable_sort(groups, [&](const Group& a, const Group& b) { return count(a) > count(b); });
      for (Group& group : groups) {  // a result that follows from another folder's is none of this folder's
        if (&group != &groups.front()) std::erase_if(group, [](const auto& one) { return one.second.certificate.empty(); });
      }
    }
    return Done{};
  }

  const std::vector<std::string> folders_;
  const Asked asked_;
  Gathered& gathered_;
  std::map<std::size_t, std::vector<Group>> items_;
};

Rejection another_run(const std::string& part, const char* member) {
  return {Rejection::Kind::malformed, "gather.other_run", part, "a part of the same run", std::string("other ") + member, ""};
}

// Lines and certificates of the entries in the folder, which is their source number 0.
Outcome<Done> put(Store& store, const std::vector<std::string>& folders, const std::vector<FoundLine>& entries, Gathered& gathered) {
  std::size_t before = 0, stay = 0;
  auto counted = for_each_result(folders.front(), [&before](std::size_t, const Json&) { ++before; });
  if (!counted) return counted.rejection();
  std::vector<Json> all;
  for (const FoundLine& entry : entries) {
    all.push_back(formats::parse_json(entry.text));
    stay += entry.source == 0 ? 1 : 0;
    if (entry.source == 0 || entry.certificate.empty()) continue;
    const std::string scratch = store.scratch();
    std::error_code error;
    const auto kept = KeptCertificate::find(folders[entry.source], entry.certificate);
    if (!kept || !fs::copy_file(kept->path(), scratch, error) || file_digest(scratch) != entry.certificate)
      return Rejection{Rejection::Kind::declined, "store.write",    scratch, "a copy of the certificate " + entry.certificate,
                       error.message(),           "gather it again"};
    if (auto stored = store.keep(scratch); !stored) return stored.rejection();
  }
  gathered.added = entries.size() - stay;
  if (stay != before) return store.replace(all);
  for (std::size_t i = stay; i < all.size(); ++i) {
    if (auto appended = store.append(all[i]); !appended) return appended;
  }
  return Done{};
}

}  // namespace

Outcome<Gathered> gather(const std::string& folder, const std::vector<std::string>& parts, const check::LoadOptions& load,
                         const std::stop_token& stop) {
  Gathered gathered;
  std::unique_ptr<Store> store;
  std::vector<std::string> folders{folder};
  folders.insert(folders.end(), parts.begin(), parts.end());
  for (const std::string& part : parts) {
    auto manifest = read_manifest(part);
    if (!manifest) return manifest.rejection();
    if (auto claimed = check_claim(part, manifest.value()); !claimed) return claimed.rejection();
    Json whole = manifest.value();
    whole["claim"]["part"] = "";
    if (store == nullptr) {
      auto opened = Store::open(folder, whole, true);
      if (!opened) return opened.rejection();
      store = std::move(opened).value();
    }
    for (const char* member : {"kind", "claim", "items"}) {  // the last: how many the data set has
      if (member_of(read_manifest(folder).value(), member) != member_of(whole, member)) return another_run(part, member);
    }
  }
  auto asked = Asked::of(read_manifest(folder).value());
  if (!asked) return asked.rejection();
  Gathering gathering(folders, std::move(asked).value(), gathered);
  for (std::size_t i = 0; i < folders.size(); ++i) {
    if (auto read = gathering.read(i); !read) return read.rejection();
  }
  auto entries = gathering.chosen(load, stop);
  if (!entries) return entries.rejection();
  if (auto written = put(*store, folders, entries.value(), gathered); !written) return written.rejection();
  return gathered;
}

}  // namespace assay::runs
