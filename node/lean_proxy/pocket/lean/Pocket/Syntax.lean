prelude
import Pocket.Meta
declare_syntax_cat rcasesPat
declare_syntax_cat rintroPat
declare_syntax_cat binderPred
declare_syntax_cat conv (behavior := both)
@[extern "x"] def Lean.Parser.Attr.ext : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.extFlat : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.extIff : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.normCastLabel : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.norm_cast : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.simp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Attr.simprocAttr : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.allGoals : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.anyGoals : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.arg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.argArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.case : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.case' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.change : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.clear : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.congr : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«conv» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convApply_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convArgs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convConvSeq : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convDone : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convErw__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convIntro___ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convLeft : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«convNext__=>_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convRepeat_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convRfl : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convRight : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convRw__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convSeq : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convSeq1Indented : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convSeqBracketed : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convTactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convTrace_state : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.convTry_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«conv_<;>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«conv·_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.delta : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.dsimp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.dsimpTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.enter : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.enterArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.enterPattern : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.ext : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.extractLets : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.failIfSuccess : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«first» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.focus : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«fun» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.letToHave : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.lhs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.liftLets : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.nestedConv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.nestedTactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.nestedTacticCore : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.normCast : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.occs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.occsIndexed : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.occsWildcard : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.paren : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.pattern : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.reduce : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.rewrite : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.rhs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.simp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.simpMatch : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.simpTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.skip : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.«unfold» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.whnf : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.Conv.zeta : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.SolveByElim.arg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.SolveByElim.args : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.SolveByElim.erase : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.SolveByElim.star : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.SolveByElim.using_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.acNf0 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.acRfl : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.allGoals : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.anchor : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.anyGoals : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.apply : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.applyAssumption : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.applyRfl : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.applyRules : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.apply? : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.as_aux_lemma : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.assumption : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.attemptAll : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.attemptAllPar : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.by? : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.case : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.caseArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.case' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.cases : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.cbv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.change : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.classical : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.clear : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.clearValue : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.clearValueArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.clearValueHyp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.clearValueStar : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.config : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.configItem : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.congr : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.constructor : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.constructorBang : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.contradiction : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dbgTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«decide» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.decide_cbv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.declareSimpLikeTactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.delta : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.discharger : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.done : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpArgs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpAutoUnfold : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpKind : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.dsimpTraceArgsRest : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.elimTarget : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.eqRefl : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.exact : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.exact? : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.exposeNames : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.extractLets : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.fail : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.failIfSuccess : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.falseOrByContra : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«first» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.firstPar : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.focus : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.frameAlt : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.funCases : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.funInduction : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.generalize : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.generalizeArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardExpr : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardExprConv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardHyp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardHypConv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardTarget : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.guardTargetConv : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.impossible : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.induction : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.inductionAlt : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.inductionAltLHS : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.inductionAlts : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.injection : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.injections : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.intro : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.intros : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.invariantAlts : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.invariantCaseAlt : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.invariantDotAlt : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.invariantsKW : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.left : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.letToHave : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.letrec : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.liftLets : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.location : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.locationHyp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.locationType : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.locationWildcard : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.nativeDecide : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.negConfigItem : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.normCast0 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.normCastAddElim : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.obtain : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.omega : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.optConfig : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.paren : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.posConfigItem : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.pushCast : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcases : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPatLo : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPatMed : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.clear : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.explicit : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.ignore : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.one : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.paren : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rcasesPat.tuple : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.refine : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.refine' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rename : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.renameI : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.repeat1' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.repeat' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.replace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.revert : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rewriteSeq : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rewrites_forbidden : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rewrites? : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.right : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rintro : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rintroPat.binder : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rintroPat.one : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rotateLeft : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rotateRight : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.runTac : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwRule : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwRuleSeq : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwSeq : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwa : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwaAt : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.rwaAtLegacyLocation : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«show» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.showTerm : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.showTermElab : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simp : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAll : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllArith : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllArithBang : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllAutoUnfold : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllKind : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAllTraceArgsRest : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpArgs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpArith : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpArithBang : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpAutoUnfold : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpErase : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpLemma : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpPost : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpPre : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpStar : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpTrace : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpTraceArgsRest : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpa : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpaArgsRest : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpaUsingBang : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.simpaUsingBangArgsRest : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.skip : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.sleep : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.solveByElim : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.specialize : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.split : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.subst : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.substEqs : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.substVars : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.suggestions : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.symm : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.symmSaturate : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacDepIfThenElse : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacIfThenElse : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticAc_nf_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticAdmit : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticAnd_intros : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticApply_mod_cast_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticAssumption_mod_cast_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticBv_omega : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticDsimp?!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticErw___ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticExact_mod_cast_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticExfalso : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«tacticExists_,,» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticHaveI__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticHave__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticHave' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticInfer_instance : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticIterate____ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticLetI__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticLet__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticLet'__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«tacticNext_=>_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticNofun : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«tacticNomatch_,,» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticNorm_cast__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRefine_lift_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRefine_lift'_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRepeat_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRfl : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRfl' : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticRw_mod_cast___ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimp_all?!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimp?!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa!__1 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa?_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa?__1 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa?!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSimpa?!__1 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSorry : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticStop_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticSuffices_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticTrivial : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticTry_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tacticUnhygienic_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«tactic_<;>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.traceMessage : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.traceState : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.tryResult : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.«unfold» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.valConfigItem : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.withImplicit : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.withReducible : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.withReducibleAndInstances : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.withUnfoldingAll : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.Parser.Tactic.withUnfoldingNone : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.binderIdent : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred∈_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred∉_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred≠_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred≤_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred≥_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred⊂_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred⊃_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred⊆_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred⊇_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred<_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«binderPred>_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.bracketedExplicitBinders : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.calc : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.calcFirstStep : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.calcStep : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.calcSteps : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.calcTactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.cdot : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.cdotTk : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.convCalc_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.explicitBinders : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.solveTactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.termEval_prec_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.termEval_prio_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.termM!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«termMacro.trace[_]_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«termRegister_parser_alias(Kind:=_)______» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«termSatisfies_binder_pred%__» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.termThrowErrorAt____ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.termThrowError__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«term_Matches_|» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«term∀__,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.«term∃__,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def Lean.unbracketedExplicitBinders : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def coeFunNotation : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def coeNotation : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def coeSortNotation : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def precArg : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def precLead : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def precMax : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def precMin : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def precMin1 : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «prec(_)» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def prioDefault : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def prioHigh : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def prioLow : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def prioMid : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «prio(_)» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def rawNatLit : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_*» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_+» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_,*» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_,*,?» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_,+» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_,+,?» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «stx_<|>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def stx_? : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def stx!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «tacticBy_cases_:_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticClean_wf : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDecreasing_tactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDecreasing_trivial : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDecreasing_trivial_pre_omega : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDecreasing_with_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDeriving_LawfulEq_tactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticDeriving_LawfulEq_tactic_step : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticFunext___ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticGet_elem_tactic : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticGet_elem_tactic_extensible : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticGet_elem_tactic_trivial : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def tacticSimp_wf : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «tactic∎» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termDepIfThenElse : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «termExists_,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termIfLet : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termIfThenElse : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termMax_prec : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termPrintln!__ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termS!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def termWithout_expected_type_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term__[_]» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term__[_]_!» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term__[_]_?» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term__[_]'_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_•_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⁻¹» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_↔_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∈_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∉_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∘_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∣_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∧_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∨_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∩_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_∪_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_≈_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_≍_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_≠_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_≤_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_≥_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊂_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊃_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊆_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊇_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊕_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_⊕'_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_!=_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_$__» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_%_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_&&_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_&&&_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_*_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_*>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_+_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_++_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_-_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_/_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_::_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<$>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<&&>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<&>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<*_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<*>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<->_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<<<_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<=_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<=<_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<|_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<|>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_<||>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_=_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_=<<_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_==_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>=_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>=>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>>=_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_>>>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_\_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_^_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_^^^_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_|>_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_||_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_|||_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_×_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_×__1» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_×'_» : Lean.TrailingParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term_×'__1» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «termΣ_,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «termΣ'_,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term‹_›» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term∃_,_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term∅» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term∎» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def term!_ : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term#[_,]» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term%[_|_]» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term-_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term[_]» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term{_:_//_}» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term{_}» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term{}» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term~~~_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
@[extern "x"] def «term¬_» : Lean.ParserDescr := Lean.ParserDescr.symbol "x"
attribute [attr_parser 1000] Lean.Parser.Attr.ext
attribute [attr_parser 1000] Lean.Parser.Attr.norm_cast
attribute [attr_parser 1000] Lean.Parser.Attr.simp
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.allGoals
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.anyGoals
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.arg
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.case
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.case'
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.change
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.clear
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.congr
attribute [tactic_parser 1000] Lean.Parser.Tactic.Conv.«conv»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convApply_
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convArgs
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convConvSeq
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convDone
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convErw__
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convIntro___
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convLeft
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«convNext__=>_»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convRepeat_
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convRfl
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convRight
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convRw__
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convTactic
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convTrace_state
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.convTry_
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«conv_<;>_»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«conv·_»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.delta
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.dsimp
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.dsimpTrace
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.enter
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.ext
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.extractLets
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.failIfSuccess
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«first»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.focus
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«fun»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.letToHave
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.lhs
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.liftLets
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.nestedConv
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.nestedTactic
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.nestedTacticCore
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.normCast
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.paren
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.pattern
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.reduce
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.rewrite
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.rhs
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.simp
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.simpMatch
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.simpTrace
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.skip
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.«unfold»
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.whnf
attribute [conv_parser 1000] Lean.Parser.Tactic.Conv.zeta
attribute [tactic_parser 1000] Lean.Parser.Tactic.acNf0
attribute [tactic_parser 1000] Lean.Parser.Tactic.acRfl
attribute [tactic_parser 1000] Lean.Parser.Tactic.allGoals
attribute [tactic_parser 1000] Lean.Parser.Tactic.anyGoals
attribute [tactic_parser 1000] Lean.Parser.Tactic.apply
attribute [tactic_parser 1000] Lean.Parser.Tactic.applyAssumption
attribute [tactic_parser 1000] Lean.Parser.Tactic.applyRfl
attribute [tactic_parser 1000] Lean.Parser.Tactic.applyRules
attribute [tactic_parser 1000] Lean.Parser.Tactic.apply?
attribute [tactic_parser 1000] Lean.Parser.Tactic.as_aux_lemma
attribute [tactic_parser 1000] Lean.Parser.Tactic.assumption
attribute [tactic_parser 1000] Lean.Parser.Tactic.attemptAll
attribute [tactic_parser 1000] Lean.Parser.Tactic.attemptAllPar
attribute [tactic_parser 1000] Lean.Parser.Tactic.by?
attribute [tactic_parser 1000] Lean.Parser.Tactic.case
attribute [tactic_parser 1000] Lean.Parser.Tactic.case'
attribute [tactic_parser 1000] Lean.Parser.Tactic.cases
attribute [tactic_parser 1000] Lean.Parser.Tactic.cbv
attribute [tactic_parser 1000] Lean.Parser.Tactic.change
attribute [tactic_parser 1000] Lean.Parser.Tactic.classical
attribute [tactic_parser 1000] Lean.Parser.Tactic.clear
attribute [tactic_parser 1000] Lean.Parser.Tactic.clearValue
attribute [tactic_parser 1000] Lean.Parser.Tactic.congr
attribute [tactic_parser 1000] Lean.Parser.Tactic.constructor
attribute [tactic_parser 1000] Lean.Parser.Tactic.constructorBang
attribute [tactic_parser 1000] Lean.Parser.Tactic.contradiction
attribute [tactic_parser 1000] Lean.Parser.Tactic.dbgTrace
attribute [tactic_parser 1000] Lean.Parser.Tactic.«decide»
attribute [tactic_parser 1000] Lean.Parser.Tactic.decide_cbv
attribute [tactic_parser 1000] Lean.Parser.Tactic.declareSimpLikeTactic
attribute [tactic_parser 1000] Lean.Parser.Tactic.delta
attribute [tactic_parser 1000] Lean.Parser.Tactic.done
attribute [tactic_parser 1000] Lean.Parser.Tactic.dsimp
attribute [tactic_parser 1000] Lean.Parser.Tactic.dsimpAutoUnfold
attribute [tactic_parser 1000] Lean.Parser.Tactic.dsimpTrace
attribute [tactic_parser 1000] Lean.Parser.Tactic.eqRefl
attribute [tactic_parser 1000] Lean.Parser.Tactic.exact
attribute [tactic_parser 1000] Lean.Parser.Tactic.exact?
attribute [tactic_parser 1000] Lean.Parser.Tactic.exposeNames
attribute [tactic_parser 1000] Lean.Parser.Tactic.extractLets
attribute [tactic_parser 1000] Lean.Parser.Tactic.fail
attribute [tactic_parser 1000] Lean.Parser.Tactic.failIfSuccess
attribute [tactic_parser 1000] Lean.Parser.Tactic.falseOrByContra
attribute [tactic_parser 1000] Lean.Parser.Tactic.«first»
attribute [tactic_parser 1000] Lean.Parser.Tactic.firstPar
attribute [tactic_parser 1000] Lean.Parser.Tactic.focus
attribute [tactic_parser 1000] Lean.Parser.Tactic.funCases
attribute [tactic_parser 1000] Lean.Parser.Tactic.funInduction
attribute [tactic_parser 1000] Lean.Parser.Tactic.generalize
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardExpr
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardExprConv
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardHyp
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardHypConv
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardTarget
attribute [tactic_parser 1000] Lean.Parser.Tactic.guardTargetConv
attribute [tactic_parser 1000] Lean.Parser.Tactic.impossible
attribute [tactic_parser 1000] Lean.Parser.Tactic.induction
attribute [tactic_parser 1000] Lean.Parser.Tactic.injection
attribute [tactic_parser 1000] Lean.Parser.Tactic.injections
attribute [tactic_parser 1000] Lean.Parser.Tactic.intro
attribute [tactic_parser 1000] Lean.Parser.Tactic.intros
attribute [tactic_parser 1000] Lean.Parser.Tactic.left
attribute [tactic_parser 1000] Lean.Parser.Tactic.letToHave
attribute [tactic_parser 1000] Lean.Parser.Tactic.letrec
attribute [tactic_parser 1000] Lean.Parser.Tactic.liftLets
attribute [tactic_parser 1000] Lean.Parser.Tactic.nativeDecide
attribute [tactic_parser 1000] Lean.Parser.Tactic.normCast0
attribute [tactic_parser 1000] Lean.Parser.Tactic.normCastAddElim
attribute [tactic_parser 1000] Lean.Parser.Tactic.obtain
attribute [tactic_parser 1000] Lean.Parser.Tactic.omega
attribute [tactic_parser 1000] Lean.Parser.Tactic.paren
attribute [tactic_parser 1000] Lean.Parser.Tactic.pushCast
attribute [tactic_parser 1000] Lean.Parser.Tactic.rcases
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.clear
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.explicit
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.ignore
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.one
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.paren
attribute [rcasesPat_parser 1000] Lean.Parser.Tactic.rcasesPat.tuple
attribute [tactic_parser 1000] Lean.Parser.Tactic.refine
attribute [tactic_parser 1000] Lean.Parser.Tactic.refine'
attribute [tactic_parser 1000] Lean.Parser.Tactic.rename
attribute [tactic_parser 1000] Lean.Parser.Tactic.renameI
attribute [tactic_parser 1000] Lean.Parser.Tactic.repeat1'
attribute [tactic_parser 1000] Lean.Parser.Tactic.repeat'
attribute [tactic_parser 1000] Lean.Parser.Tactic.replace
attribute [tactic_parser 1000] Lean.Parser.Tactic.revert
attribute [tactic_parser 1000] Lean.Parser.Tactic.rewriteSeq
attribute [tactic_parser 1000] Lean.Parser.Tactic.rewrites?
attribute [tactic_parser 1000] Lean.Parser.Tactic.right
attribute [tactic_parser 1000] Lean.Parser.Tactic.rintro
attribute [rintroPat_parser 1000] Lean.Parser.Tactic.rintroPat.binder
attribute [rintroPat_parser 1000] Lean.Parser.Tactic.rintroPat.one
attribute [tactic_parser 1000] Lean.Parser.Tactic.rotateLeft
attribute [tactic_parser 1000] Lean.Parser.Tactic.rotateRight
attribute [tactic_parser 1000] Lean.Parser.Tactic.runTac
attribute [tactic_parser 1000] Lean.Parser.Tactic.rwSeq
attribute [tactic_parser 1000] Lean.Parser.Tactic.rwa
attribute [tactic_parser 1000] Lean.Parser.Tactic.rwaAt
attribute [tactic_parser 1000] Lean.Parser.Tactic.rwaAtLegacyLocation
attribute [tactic_parser 1000] Lean.Parser.Tactic.«show»
attribute [tactic_parser 1000] Lean.Parser.Tactic.showTerm
attribute [tactic_parser 1000] Lean.Parser.Tactic.showTermElab
attribute [tactic_parser 1000] Lean.Parser.Tactic.simp
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAll
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAllArith
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAllArithBang
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAllAutoUnfold
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAllTrace
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpArith
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpArithBang
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpAutoUnfold
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpTrace
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpa
attribute [tactic_parser 1000] Lean.Parser.Tactic.simpaUsingBang
attribute [tactic_parser 1000] Lean.Parser.Tactic.skip
attribute [tactic_parser 1000] Lean.Parser.Tactic.sleep
attribute [tactic_parser 1000] Lean.Parser.Tactic.solveByElim
attribute [tactic_parser 1000] Lean.Parser.Tactic.specialize
attribute [tactic_parser 1000] Lean.Parser.Tactic.split
attribute [tactic_parser 1000] Lean.Parser.Tactic.subst
attribute [tactic_parser 1000] Lean.Parser.Tactic.substEqs
attribute [tactic_parser 1000] Lean.Parser.Tactic.substVars
attribute [tactic_parser 1000] Lean.Parser.Tactic.suggestions
attribute [tactic_parser 1000] Lean.Parser.Tactic.symm
attribute [tactic_parser 1000] Lean.Parser.Tactic.symmSaturate
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacDepIfThenElse
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacIfThenElse
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticAc_nf_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticAdmit
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticAnd_intros
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticApply_mod_cast_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticAssumption_mod_cast_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticBv_omega
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticDsimp?!_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticErw___
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticExact_mod_cast_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticExfalso
attribute [tactic_parser 1000] Lean.Parser.Tactic.«tacticExists_,,»
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticHaveI__
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticHave__
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticHave'
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticInfer_instance
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticIterate____
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticLetI__
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticLet__
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticLet'__
attribute [tactic_parser 1000] Lean.Parser.Tactic.«tacticNext_=>_»
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticNofun
attribute [tactic_parser 1000] Lean.Parser.Tactic.«tacticNomatch_,,»
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticNorm_cast__
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRefine_lift_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRefine_lift'_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRepeat_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRfl
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRfl'
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticRw_mod_cast___
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimp_all?!_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimp?!_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa!_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa!__1
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa?_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa?__1
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa?!_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSimpa?!__1
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSorry
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticStop_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticSuffices_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticTrivial
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticTry_
attribute [tactic_parser 1000] Lean.Parser.Tactic.tacticUnhygienic_
attribute [tactic_parser 1000] Lean.Parser.Tactic.«tactic_<;>_»
attribute [tactic_parser 1000] Lean.Parser.Tactic.traceMessage
attribute [tactic_parser 1000] Lean.Parser.Tactic.traceState
attribute [tactic_parser 1000] Lean.Parser.Tactic.tryResult
attribute [tactic_parser 1000] Lean.Parser.Tactic.«unfold»
attribute [tactic_parser 1000] Lean.Parser.Tactic.withImplicit
attribute [tactic_parser 1000] Lean.Parser.Tactic.withReducible
attribute [tactic_parser 1000] Lean.Parser.Tactic.withReducibleAndInstances
attribute [tactic_parser 1000] Lean.Parser.Tactic.withUnfoldingAll
attribute [tactic_parser 1000] Lean.Parser.Tactic.withUnfoldingNone
attribute [binderPred_parser 1000] Lean.«binderPred∈_»
attribute [binderPred_parser 1000] Lean.«binderPred∉_»
attribute [binderPred_parser 1000] Lean.«binderPred≠_»
attribute [binderPred_parser 1000] Lean.«binderPred≤_»
attribute [binderPred_parser 1000] Lean.«binderPred≥_»
attribute [binderPred_parser 1000] Lean.«binderPred⊂_»
attribute [binderPred_parser 1000] Lean.«binderPred⊃_»
attribute [binderPred_parser 1000] Lean.«binderPred⊆_»
attribute [binderPred_parser 1000] Lean.«binderPred⊇_»
attribute [binderPred_parser 1000] Lean.«binderPred<_»
attribute [binderPred_parser 1000] Lean.«binderPred>_»
attribute [term_parser 1000] Lean.calc
attribute [tactic_parser 1000] Lean.calcTactic
attribute [tactic_parser 1000] Lean.cdot
attribute [conv_parser 1000] Lean.convCalc_
attribute [tactic_parser 1000] Lean.solveTactic
attribute [term_parser 1000] Lean.termEval_prec_
attribute [term_parser 1000] Lean.termEval_prio_
attribute [term_parser 1000] Lean.termM!_
attribute [term_parser 1000] Lean.«termMacro.trace[_]_»
attribute [term_parser 1000] Lean.«termRegister_parser_alias(Kind:=_)______»
attribute [term_parser 1000] Lean.«termSatisfies_binder_pred%__»
attribute [term_parser 1000] Lean.termThrowErrorAt____
attribute [term_parser 1000] Lean.termThrowError__
attribute [term_parser 1000] Lean.«term_Matches_|»
attribute [term_parser 1000] Lean.«term∀__,_»
attribute [term_parser 1000] Lean.«term∃__,_»
attribute [term_parser 1000] coeFunNotation
attribute [term_parser 1000] coeNotation
attribute [term_parser 1000] coeSortNotation
attribute [prec_parser 1000] precArg
attribute [prec_parser 1000] precLead
attribute [prec_parser 1000] precMax
attribute [prec_parser 1000] precMin
attribute [prec_parser 1000] precMin1
attribute [prec_parser 1000] «prec(_)»
attribute [prio_parser 1000] prioDefault
attribute [prio_parser 1000] prioHigh
attribute [prio_parser 1000] prioLow
attribute [prio_parser 1000] prioMid
attribute [prio_parser 1000] «prio(_)»
attribute [term_parser 1000] rawNatLit
attribute [stx_parser 1000] «stx_*»
attribute [stx_parser 1000] «stx_+»
attribute [stx_parser 1000] «stx_,*»
attribute [stx_parser 1000] «stx_,*,?»
attribute [stx_parser 1000] «stx_,+»
attribute [stx_parser 1000] «stx_,+,?»
attribute [stx_parser 1000] «stx_<|>_»
attribute [stx_parser 1000] stx_?
attribute [stx_parser 1000] stx!_
attribute [tactic_parser 1000] «tacticBy_cases_:_»
attribute [tactic_parser 1000] tacticClean_wf
attribute [tactic_parser 1000] tacticDecreasing_tactic
attribute [tactic_parser 1000] tacticDecreasing_trivial
attribute [tactic_parser 1000] tacticDecreasing_trivial_pre_omega
attribute [tactic_parser 1000] tacticDecreasing_with_
attribute [tactic_parser 1000] tacticDeriving_LawfulEq_tactic
attribute [tactic_parser 1000] tacticDeriving_LawfulEq_tactic_step
attribute [tactic_parser 1000] tacticFunext___
attribute [tactic_parser 1000] tacticGet_elem_tactic
attribute [tactic_parser 1000] tacticGet_elem_tactic_extensible
attribute [tactic_parser 1000] tacticGet_elem_tactic_trivial
attribute [tactic_parser 1000] tacticSimp_wf
attribute [tactic_parser 1000] «tactic∎»
attribute [term_parser 1000] termDepIfThenElse
attribute [term_parser 1000] «termExists_,_»
attribute [term_parser 1000] termIfLet
attribute [term_parser 1000] termIfThenElse
attribute [term_parser 1000] termMax_prec
attribute [term_parser 1000] termPrintln!__
attribute [term_parser 1000] termS!_
attribute [term_parser 1000] termWithout_expected_type_
attribute [term_parser 1000] «term__[_]»
attribute [term_parser 1000] «term__[_]_!»
attribute [term_parser 1000] «term__[_]_?»
attribute [term_parser 1000] «term__[_]'_»
attribute [term_parser 1000] «term_•_»
attribute [term_parser 1000] «term_⁻¹»
attribute [term_parser 1000] «term_↔_»
attribute [term_parser 1000] «term_∈_»
attribute [term_parser 1000] «term_∉_»
attribute [term_parser 1000] «term_∘_»
attribute [term_parser 1000] «term_∣_»
attribute [term_parser 1000] «term_∧_»
attribute [term_parser 1000] «term_∨_»
attribute [term_parser 1000] «term_∩_»
attribute [term_parser 1000] «term_∪_»
attribute [term_parser 1000] «term_≈_»
attribute [term_parser 1000] «term_≍_»
attribute [term_parser 1000] «term_≠_»
attribute [term_parser 1000] «term_≤_»
attribute [term_parser 1000] «term_≥_»
attribute [term_parser 1000] «term_⊂_»
attribute [term_parser 1000] «term_⊃_»
attribute [term_parser 1000] «term_⊆_»
attribute [term_parser 1000] «term_⊇_»
attribute [term_parser 1000] «term_⊕_»
attribute [term_parser 1000] «term_⊕'_»
attribute [term_parser 1000] «term_!=_»
attribute [term_parser 1000] «term_$__»
attribute [term_parser 1000] «term_%_»
attribute [term_parser 1000] «term_&&_»
attribute [term_parser 1000] «term_&&&_»
attribute [term_parser 1000] «term_*_»
attribute [term_parser 1000] «term_*>_»
attribute [term_parser 1000] «term_+_»
attribute [term_parser 1000] «term_++_»
attribute [term_parser 1000] «term_-_»
attribute [term_parser 1000] «term_/_»
attribute [term_parser 1000] «term_::_»
attribute [term_parser 1000] «term_<_»
attribute [term_parser 1000] «term_<$>_»
attribute [term_parser 1000] «term_<&&>_»
attribute [term_parser 1000] «term_<&>_»
attribute [term_parser 1000] «term_<*_»
attribute [term_parser 1000] «term_<*>_»
attribute [term_parser 1000] «term_<->_»
attribute [term_parser 1000] «term_<<<_»
attribute [term_parser 1000] «term_<=_»
attribute [term_parser 1000] «term_<=<_»
attribute [term_parser 1000] «term_<|_»
attribute [term_parser 1000] «term_<|>_»
attribute [term_parser 1000] «term_<||>_»
attribute [term_parser 1000] «term_=_»
attribute [term_parser 1000] «term_=<<_»
attribute [term_parser 1000] «term_==_»
attribute [term_parser 1000] «term_>_»
attribute [term_parser 1000] «term_>=_»
attribute [term_parser 1000] «term_>=>_»
attribute [term_parser 1000] «term_>>_»
attribute [term_parser 1000] «term_>>=_»
attribute [term_parser 1000] «term_>>>_»
attribute [term_parser 1000] «term_\_»
attribute [term_parser 1000] «term_^_»
attribute [term_parser 1000] «term_^^^_»
attribute [term_parser 1000] «term_|>_»
attribute [term_parser 1000] «term_||_»
attribute [term_parser 1000] «term_|||_»
attribute [term_parser 1000] «term_×_»
attribute [term_parser 1000] «term_×__1»
attribute [term_parser 1000] «term_×'_»
attribute [term_parser 1000] «term_×'__1»
attribute [term_parser 1000] «termΣ_,_»
attribute [term_parser 1000] «termΣ'_,_»
attribute [term_parser 1000] «term‹_›»
attribute [term_parser 1000] «term∃_,_»
attribute [term_parser 1000] «term∅»
attribute [term_parser 1000] «term∎»
attribute [term_parser 1000] term!_
attribute [term_parser 1000] «term#[_,]»
attribute [term_parser 1000] «term%[_|_]»
attribute [term_parser 1000] «term-_»
attribute [term_parser 1000] «term[_]»
attribute [term_parser 1000] «term{_:_//_}»
attribute [term_parser 1000] «term{_}»
attribute [term_parser 1000] «term{}»
attribute [term_parser 1000] «term~~~_»
attribute [term_parser 1000] «term¬_»
@[extern "x", macro tacticDecreasing_trivial] def Array._aux_Init_Data_Array_Mem___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def Array._aux_Init_Data_Array_Mem___macroRules_tacticDecreasing_trivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def Fin._aux_Init_GetElem___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.allGoals] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_allGoals_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.anyGoals] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_anyGoals_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.case] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_case_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.case'] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_case'_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convApply_] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convApply__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convArgs] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convArgs_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convDone] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convDone_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convErw__] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convErw___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convIntro___] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convIntro____1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convLeft] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convLeft_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.«convNext__=>_»] def Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convNext__=>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convRepeat_] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRepeat__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convRfl] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRfl_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convRight] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRight_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convRw__] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convRw___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convTrace_state] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convTrace_state_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.convTry_] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_convTry__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.«conv_<;>_»] def Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_conv_<;>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.«conv·_»] def Lean.Parser.Tactic.Conv.«_aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_conv·__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.failIfSuccess] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_failIfSuccess_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.Conv.focus] def Lean.Parser.Tactic.Conv._aux_Init_Conv___macroRules_Lean_Parser_Tactic_Conv_focus_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.constructorBang] def Lean.Parser.Tactic._aux_Init_Meta___macroRules_Lean_Parser_Tactic_constructorBang_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.declareSimpLikeTactic] def Lean.Parser.Tactic._aux_Init_Meta___macroRules_Lean_Parser_Tactic_declareSimpLikeTactic_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticErw___] def Lean.Parser.Tactic._aux_Init_Meta___macroRules_Lean_Parser_Tactic_tacticErw____1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacDepIfThenElse] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacDepIfThenElse_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacIfThenElse] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacIfThenElse_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticApply_mod_cast_] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacticApply_mod_cast__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticExact_mod_cast_] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacticExact_mod_cast__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticIterate____] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacticIterate_____1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRw_mod_cast___] def Lean.Parser.Tactic._aux_Init_TacticsExtra___macroRules_Lean_Parser_Tactic_tacticRw_mod_cast____1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.by?] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_by?_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.letrec] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_letrec_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.rwSeq] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_rwSeq_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.rwaAtLegacyLocation] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_rwaAtLegacyLocation_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.showTermElab] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_showTermElab_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticAc_nf_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAc_nf__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticAdmit] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAdmit_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticAnd_intros] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAnd_intros_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticAssumption_mod_cast_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticAssumption_mod_cast__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticBv_omega] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticBv_omega_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticDsimp?!_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticDsimp?!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticExfalso] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticExfalso_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.«tacticExists_,,»] def Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticExists_,,_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticHaveI__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHaveI___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticHave__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHave___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticHave'] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticHave'_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticInfer_instance] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticInfer_instance_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticLetI__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLetI___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticLet__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLet___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticLet'__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticLet'___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.«tacticNext_=>_»] def Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNext_=>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticNofun] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNofun_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.«tacticNomatch_,,»] def Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNomatch_,,_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticNorm_cast__] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticNorm_cast___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRefine_lift_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRefine_lift__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRefine_lift'_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRefine_lift'__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRfl] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRfl] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRfl] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRfl'] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticRfl'_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimp_all?!_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimp_all?!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimp?!_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimp?!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa!_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa!__1] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa!__1_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa?_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa?__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa?__1] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa?__1_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa?!_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa?!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSimpa?!__1] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSimpa?!__1_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSorry] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSorry_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticStop_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticStop__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticSuffices_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticSuffices__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_4 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_5 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTrivial] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTrivial_6 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticTry_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticTry__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticUnhygienic_] def Lean.Parser.Tactic._aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tacticUnhygienic__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.«tactic_<;>_»] def Lean.Parser.Tactic.«_aux_Init_Tactics___macroRules_Lean_Parser_Tactic_tactic_<;>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___10» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___11» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___3» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___4» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___5» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___6» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___7» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___8» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termSatisfies_binder_pred%__»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_termSatisfies_binder_pred%___9» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«term∀__,_»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_term∀__,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«term∃__,_»] def Lean.«_aux_Init_BinderPredicates___macroRules_Lean_term∃__,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term[_]»] def Lean.«_aux_Init_Data_List_Notation___macroRules_term[_]_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«termMacro.trace[_]_»] def Lean.«_aux_Init_MacroTrace___macroRules_Lean_termMacro.trace[_]__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.termEval_prec_] def Lean._aux_Init_Meta___macroRules_Lean_termEval_prec__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.termEval_prio_] def Lean._aux_Init_Meta___macroRules_Lean_termEval_prio__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.convCalc_] def Lean._aux_Init_NotationExtra___macroRules_Lean_convCalc__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.solveTactic] def Lean._aux_Init_NotationExtra___macroRules_Lean_solveTactic_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.«term_Matches_|»] def Lean.«_aux_Init_NotationExtra___macroRules_Lean_term_Matches_|_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def List._aux_Init_Data_List_BasicAux___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def Std._aux_Init_Data_Iterators_Basic___macroRules_tacticDecreasing_trivial_4 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def Std._aux_Init_Data_Range_Polymorphic_Basic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term__[_]»] def Std.«_aux_Init_Data_Slice_Notation___macroRules_term__[_]_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String.Legacy.Iterator._aux_Init_Data_String_Iterator___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String.Legacy.Iterator._aux_Init_Data_String_Iterator___macroRules_tacticDecreasing_trivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def String._aux_Init_Data_String_Termination___macroRules_tacticDecreasing_trivial_4 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «tacticBy_cases_:_»] def «_aux_Init_ByCases___macroRules_tacticBy_cases_:__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «tacticBy_cases_:_»] def «_aux_Init_ByCases___macroRules_tacticBy_cases_:__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<&&>_»] def «_aux_Init_Control_Basic___macroRules_term_<&&>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<&>_»] def «_aux_Init_Control_Basic___macroRules_term_<&>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<=<_»] def «_aux_Init_Control_Basic___macroRules_term_<=<__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<||>_»] def «_aux_Init_Control_Basic___macroRules_term_<||>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_=<<_»] def «_aux_Init_Control_Basic___macroRules_term_=<<__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>=>_»] def «_aux_Init_Control_Basic___macroRules_term_>=>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro Lean.Parser.Tactic.tacticRfl] def _aux_Init_Core___macroRules_Lean_Parser_Tactic_tacticRfl_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_↔_»] def «_aux_Init_Core___macroRules_term_↔__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∩_»] def «_aux_Init_Core___macroRules_term_∩__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∪_»] def «_aux_Init_Core___macroRules_term_∪__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≈_»] def «_aux_Init_Core___macroRules_term_≈__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≠_»] def «_aux_Init_Core___macroRules_term_≠__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≠_»] def «_aux_Init_Core___macroRules_term_≠__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊂_»] def «_aux_Init_Core___macroRules_term_⊂__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊃_»] def «_aux_Init_Core___macroRules_term_⊃__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊆_»] def «_aux_Init_Core___macroRules_term_⊆__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊇_»] def «_aux_Init_Core___macroRules_term_⊇__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊕_»] def «_aux_Init_Core___macroRules_term_⊕__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⊕'_»] def «_aux_Init_Core___macroRules_term_⊕'__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_!=_»] def «_aux_Init_Core___macroRules_term_!=__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_!=_»] def «_aux_Init_Core___macroRules_term_!=__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<->_»] def «_aux_Init_Core___macroRules_term_<->__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_\_»] def «_aux_Init_Core___macroRules_term_\__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term∅»] def «_aux_Init_Core___macroRules_term∅_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term{}»] def «_aux_Init_Core___macroRules_term{}_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term#[_,]»] def «_aux_Init_Data_Array_Basic___macroRules_term#[_,]_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def _aux_Init_Data_Range_Basic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def _aux_Init_Data_Range_Polymorphic_GetElemTactic___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termS!_] def _aux_Init_Data_ToString_Macro___macroRules_termS!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term__[_]»] def «_aux_Init_GetElem___macroRules_term__[_]_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term__[_]_!»] def «_aux_Init_GetElem___macroRules_term__[_]_!_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term__[_]_?»] def «_aux_Init_GetElem___macroRules_term__[_]_?_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term__[_]'_»] def «_aux_Init_GetElem___macroRules_term__[_]'__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_4 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_5 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDeriving_LawfulEq_tactic_step] def _aux_Init_LawfulBEqTactics___macroRules_tacticDeriving_LawfulEq_tactic_step_6 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticFunext___] def _aux_Init_NotationExtra___macroRules_tacticFunext____1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «termExists_,_»] def «_aux_Init_NotationExtra___macroRules_termExists_,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_×__1»] def «_aux_Init_NotationExtra___macroRules_term_×__1_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_×'__1»] def «_aux_Init_NotationExtra___macroRules_term_×'__1_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «termΣ_,_»] def «_aux_Init_NotationExtra___macroRules_termΣ_,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «termΣ'_,_»] def «_aux_Init_NotationExtra___macroRules_termΣ'_,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term∃_,_»] def «_aux_Init_NotationExtra___macroRules_term∃_,__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term%[_|_]»] def «_aux_Init_NotationExtra___macroRules_term%[_|_]_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term{_}»] def «_aux_Init_NotationExtra___macroRules_term{_}_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro precArg] def _aux_Init_Notation___macroRules_precArg_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro precLead] def _aux_Init_Notation___macroRules_precLead_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro precMax] def _aux_Init_Notation___macroRules_precMax_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro precMin1] def _aux_Init_Notation___macroRules_precMin1_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro precMin] def _aux_Init_Notation___macroRules_precMin_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «prec(_)»] def «_aux_Init_Notation___macroRules_prec(_)_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro prioDefault] def _aux_Init_Notation___macroRules_prioDefault_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro prioHigh] def _aux_Init_Notation___macroRules_prioHigh_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro prioLow] def _aux_Init_Notation___macroRules_prioLow_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro prioMid] def _aux_Init_Notation___macroRules_prioMid_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «prio(_)»] def «_aux_Init_Notation___macroRules_prio(_)_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_*»] def «_aux_Init_Notation___macroRules_stx_*_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_+»] def «_aux_Init_Notation___macroRules_stx_+_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_,*»] def «_aux_Init_Notation___macroRules_stx_,*_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_,*,?»] def «_aux_Init_Notation___macroRules_stx_,*,?_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_,+»] def «_aux_Init_Notation___macroRules_stx_,+_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_,+,?»] def «_aux_Init_Notation___macroRules_stx_,+,?_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «stx_<|>_»] def «_aux_Init_Notation___macroRules_stx_<|>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro stx_?] def _aux_Init_Notation___macroRules_stx_?_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro stx!_] def _aux_Init_Notation___macroRules_stx!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termDepIfThenElse] def _aux_Init_Notation___macroRules_termDepIfThenElse_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termIfLet] def _aux_Init_Notation___macroRules_termIfLet_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termIfThenElse] def _aux_Init_Notation___macroRules_termIfThenElse_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termMax_prec] def _aux_Init_Notation___macroRules_termMax_prec_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termWithout_expected_type_] def _aux_Init_Notation___macroRules_termWithout_expected_type__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_•_»] def «_aux_Init_Notation___macroRules_term_•__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_•_»] def «_aux_Init_Notation___macroRules_term_•__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_⁻¹»] def «_aux_Init_Notation___macroRules_term_⁻¹_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∈_»] def «_aux_Init_Notation___macroRules_term_∈__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∉_»] def «_aux_Init_Notation___macroRules_term_∉__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∘_»] def «_aux_Init_Notation___macroRules_term_∘__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∣_»] def «_aux_Init_Notation___macroRules_term_∣__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∧_»] def «_aux_Init_Notation___macroRules_term_∧__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_∨_»] def «_aux_Init_Notation___macroRules_term_∨__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≍_»] def «_aux_Init_Notation___macroRules_term_≍__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≤_»] def «_aux_Init_Notation___macroRules_term_≤__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≤_»] def «_aux_Init_Notation___macroRules_term_≤__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≥_»] def «_aux_Init_Notation___macroRules_term_≥__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_≥_»] def «_aux_Init_Notation___macroRules_term_≥__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_$__»] def «_aux_Init_Notation___macroRules_term_$___1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_%_»] def «_aux_Init_Notation___macroRules_term_%__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_%_»] def «_aux_Init_Notation___macroRules_term_%__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_&&_»] def «_aux_Init_Notation___macroRules_term_&&__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_&&&_»] def «_aux_Init_Notation___macroRules_term_&&&__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_&&&_»] def «_aux_Init_Notation___macroRules_term_&&&__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_*_»] def «_aux_Init_Notation___macroRules_term_*__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_*_»] def «_aux_Init_Notation___macroRules_term_*__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_*>_»] def «_aux_Init_Notation___macroRules_term_*>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_+_»] def «_aux_Init_Notation___macroRules_term_+__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_+_»] def «_aux_Init_Notation___macroRules_term_+__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_++_»] def «_aux_Init_Notation___macroRules_term_++__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_++_»] def «_aux_Init_Notation___macroRules_term_++__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_-_»] def «_aux_Init_Notation___macroRules_term_-__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_-_»] def «_aux_Init_Notation___macroRules_term_-__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_/_»] def «_aux_Init_Notation___macroRules_term_/__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_/_»] def «_aux_Init_Notation___macroRules_term_/__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_::_»] def «_aux_Init_Notation___macroRules_term_::__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<_»] def «_aux_Init_Notation___macroRules_term_<__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<_»] def «_aux_Init_Notation___macroRules_term_<__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<$>_»] def «_aux_Init_Notation___macroRules_term_<$>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<*_»] def «_aux_Init_Notation___macroRules_term_<*__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<*>_»] def «_aux_Init_Notation___macroRules_term_<*>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<<<_»] def «_aux_Init_Notation___macroRules_term_<<<__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<=_»] def «_aux_Init_Notation___macroRules_term_<=__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<=_»] def «_aux_Init_Notation___macroRules_term_<=__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<|_»] def «_aux_Init_Notation___macroRules_term_<|__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_<|>_»] def «_aux_Init_Notation___macroRules_term_<|>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_=_»] def «_aux_Init_Notation___macroRules_term_=__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_=_»] def «_aux_Init_Notation___macroRules_term_=__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_==_»] def «_aux_Init_Notation___macroRules_term_==__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_==_»] def «_aux_Init_Notation___macroRules_term_==__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>_»] def «_aux_Init_Notation___macroRules_term_>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>_»] def «_aux_Init_Notation___macroRules_term_>__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>=_»] def «_aux_Init_Notation___macroRules_term_>=__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>=_»] def «_aux_Init_Notation___macroRules_term_>=__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>>_»] def «_aux_Init_Notation___macroRules_term_>>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>>=_»] def «_aux_Init_Notation___macroRules_term_>>=__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_>>>_»] def «_aux_Init_Notation___macroRules_term_>>>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_^_»] def «_aux_Init_Notation___macroRules_term_^__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_^_»] def «_aux_Init_Notation___macroRules_term_^__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_^^^_»] def «_aux_Init_Notation___macroRules_term_^^^__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_^^^_»] def «_aux_Init_Notation___macroRules_term_^^^__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_|>_»] def «_aux_Init_Notation___macroRules_term_|>__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_||_»] def «_aux_Init_Notation___macroRules_term_||__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_|||_»] def «_aux_Init_Notation___macroRules_term_|||__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_|||_»] def «_aux_Init_Notation___macroRules_term_|||__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_×_»] def «_aux_Init_Notation___macroRules_term_×__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term_×'_»] def «_aux_Init_Notation___macroRules_term_×'__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro term!_] def _aux_Init_Notation___macroRules_term!__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term-_»] def «_aux_Init_Notation___macroRules_term-__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term-_»] def «_aux_Init_Notation___macroRules_term-__2» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term{_:_//_}»] def «_aux_Init_Notation___macroRules_term{_:_//_}_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term~~~_»] def «_aux_Init_Notation___macroRules_term~~~__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term¬_»] def «_aux_Init_Notation___macroRules_term¬__1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro termPrintln!__] def _aux_Init_System_IO___macroRules_termPrintln!___1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic] def _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticGet_elem_tactic_extensible] def _aux_Init_Tactics___macroRules_tacticGet_elem_tactic_extensible_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term‹_›»] def «_aux_Init_Tactics___macroRules_term‹_›_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «tactic∎»] def «_aux_Init_Try___macroRules_tactic∎_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro «term∎»] def «_aux_Init_Try___macroRules_term∎_1» : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticClean_wf] def _aux_Init_WFTactics___macroRules_tacticClean_wf_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_tactic] def _aux_Init_WFTactics___macroRules_tacticDecreasing_tactic_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial_pre_omega] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial_pre_omega] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_2 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_trivial_pre_omega] def _aux_Init_WFTactics___macroRules_tacticDecreasing_trivial_pre_omega_3 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticDecreasing_with_] def _aux_Init_WFTactics___macroRules_tacticDecreasing_with__1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
@[extern "x", macro tacticSimp_wf] def _aux_Init_WFTactics___macroRules_tacticSimp_wf_1 : Lean.Macro := fun _ _ s => Lean.MacroResult.err .missing s
