//! Plants pairs and suspects.

use super::draft::{Draft, TRIES};
use crate::polyguard::case::Split;
use crate::polyguard::formulary::{ArchetypeId, PairId};
use crate::polyguard::hidden::Issue;
use crate::polyguard::regimen::Bucket;

/// Tries for one pair.
const PAIR_TRIES: usize = 80;

impl Draft {
    /// Plants a serious pair, one of which may not be needed.
    pub(super) fn plant_pair(&mut self) -> Option<()> {
        for _ in 0..PAIR_TRIES {
            let pool = self.pair_pool();
            let pair = self.episode.hidden.stream.pick(pool).map(PairId)?;
            let (a, b) = (
                self.formulary().pair(pair).first,
                self.formulary().pair(pair).second,
            );
            if !self.episode.is_serious(pair) || !self.fits(a) || !self.fits(b) {
                continue;
            }
            self.add_pair(a, b);
            self.issue(Issue::Pair(pair));
            return Some(());
        }
        None
    }

    /// The pairs that the split allows; first of all those that it asks for.
    fn pair_pool(&self) -> u64 {
        let pairs = self.formulary().pairs();
        let such = |is: &dyn Fn(bool) -> bool| {
            let rows = pairs
                .iter()
                .enumerate()
                .filter(|(_, pair)| is(pair.held_out));
            rows.fold(0u64, |bits, (at, _)| bits | 1 << at)
        };
        match self.split() {
            Split::Train => such(&|held_out| !held_out),
            Split::Holdout if self.planted == 0 => such(&|held_out| held_out),
            Split::All | Split::Holdout => such(&|_| true),
        }
    }

    fn add_pair(&mut self, a: ArchetypeId, b: ArchetypeId) {
        let first = self.add_known(a, Some(Bucket::Medium));
        let second = self.add_known(b, Some(Bucket::Medium));
        self.planted += 2;
        let clean = [a, b].map(|id| self.is_clean(id, self.formulary().get(id).indication));
        let u = self.unit();
        if u < 0.3 || clean == [false, false] {
            let place = if self.unit() < 0.5 { first } else { second };
            self.make_needless(place, 0.6);
        }
    }

    /// Plants the suspects of a symptom.
    pub(super) fn plant_suspects(&mut self, count: usize) -> Option<()> {
        let mut chosen = Vec::new();
        let plain = self.pool(|id| !self.formulary().get(id).taper);
        for _ in 0..TRIES {
            if chosen.len() == count {
                break;
            }
            let id = self.pick(self.held_out_first(plain))?;
            if !self.fits(id) || self.has_class_of(id) {
                continue;
            }
            let place = self.add_known(id, Some(Bucket::Medium));
            self.episode.observation.regimen[place].prior = if chosen.is_empty() { 2 } else { 1 };
            self.episode.hidden.suspects |= id.bit();
            self.planted += 1;
            chosen.push(id);
        }
        (chosen.len() == count).then_some(())?;
        // The first weighs twice.
        let at = self.below(count + 1).saturating_sub(1);
        let culprit = chosen[at];
        self.episode.hidden.culprit = Some(culprit);
        self.episode.hidden.symptom = 0.8;
        self.issue(Issue::Culprit(culprit));
        Some(())
    }

    /// Whether the regimen has a medicine of the same class.
    pub(super) fn has_class_of(&self, id: ArchetypeId) -> bool {
        let class = self.formulary().get(id).class_id;
        let present = self.episode.present();
        crate::polyguard::formulary::each(present)
            .any(|other| self.formulary().get(other).class_id == class)
    }
}
